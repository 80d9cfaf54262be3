import type { Case } from "../data/case";
import { EventLinks } from "../parts/EventLinks";
import { MoreButton, useMore } from "../parts/More";

const NONE = { answered: [], unused: [] };

/** Which mock answered which call, and which answered none. */
export function Mocks({ mocks = NONE, session }: { mocks?: Case["mocks"]; session: string | null }) {
  const { shown, left, more } = useMore(mocks.answered, 50);
  if (mocks.answered.length === 0 && mocks.unused.length === 0) return null;
  return (
    <section className="card stack tight" aria-labelledby="mocks">
      <h2 id="mocks">Tool calls</h2>
      {mocks.answered.length > 0 && (
        <table>
          <caption className="visually-hidden">Who answered the tool calls</caption>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Answered by</th>
              <th scope="col">Where</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((answer, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a tool is called often, and the order is fixed
              <tr key={index}>
                <th scope="row">
                  <code>{answer.tool}</code>
                </th>
                <td>
                  {answer.by}
                  {answer.failed && ", with an error"}
                </td>
                <td>
                  <EventLinks session={session} events={[answer.event]} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <MoreButton left={left} more={more} what="calls" />
      {mocks.unused.length > 0 && (
        <p className="soft">Mocks that answered nothing: {mocks.unused.join(", ")}</p>
      )}
    </section>
  );
}
