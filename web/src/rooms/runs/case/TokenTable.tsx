import type { Tokens } from "../data/case";

const count = (tokens: number | null) => (tokens === null ? "not said" : tokens.toLocaleString());

/** What the models read and wrote, as far as their providers said. */
export function TokenTable({ tokens }: { tokens: readonly Tokens[] }) {
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
              <td>{count(used.input)}</td>
              <td>{count(used.output)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
