import type { Schemas } from "../../../api/client";
import { percent } from "../data/summary";
import { MoreButton, useMore } from "../parts/More";

type Table = Schemas["CaseTable"];
type Cell = Schemas["TableCell"];

const ROWS = 50;

/** What cases came to by their variants: how many runs of how many passed. */
export function VariantTable({ table }: { table: Table }) {
  const { shown, left, more } = useMore(table.rows, ROWS);
  return (
    <section className="stack tight" aria-labelledby="variants">
      <h2 id="variants">Variants</h2>
      <div className="card table-card">
        <table className="cases-table">
          <caption className="visually-hidden">Runs that passed, by case and variant</caption>
          <thead>
            <tr>
              <th scope="col">Case</th>
              {table.variants.map((variant) => (
                <th scope="col" key={variant.name}>
                  {variant.name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row">All</th>
              {table.variants.map(({ name, all }) => (
                <td key={name}>
                  {shares(all)}
                  {all.runs > 0 && <span className="soft"> {percent(all.passed / all.runs)}</span>}
                </td>
              ))}
            </tr>
            {shown.map((row) => (
              <tr key={row.name}>
                <th scope="row">{row.name}</th>
                {table.variants.map(({ name }, at) => (
                  <td key={name}>{shares(row.cells[at] ?? null)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <MoreButton left={left} more={more} what="cases" />
    </section>
  );
}

const shares = (cell: Cell | null): string => (cell && cell.runs > 0 ? `${cell.passed}/${cell.runs}` : "–");
