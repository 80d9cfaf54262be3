import type { Schemas } from "../../../api/client";

const PARTS = [
  ["agent", "Agent"],
  ["user", "Simulated user"],
  ["judge", "Judge"],
] as const;

/** What the models read and wrote, as far as their providers said. */
export function TokenTable({ usage }: { usage: Schemas["TokenUsage"] }) {
  const tokens = PARTS.flatMap(([key, part]) => (usage[key] ? [{ part, ...usage[key] }] : []));
  if (tokens.length === 0) return null;
  return (
    <section className="card stack tight" aria-labelledby="tokens">
      <h2 id="tokens">Tokens</h2>
      <table>
        <caption className="visually-hidden">Tokens by the part that used them</caption>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col">Read</th>
            <th scope="col">Written</th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((used) => (
            <tr key={used.part}>
              <th scope="row">{used.part}</th>
              <td>{used.input.toLocaleString()}</td>
              <td>{used.output.toLocaleString()}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
