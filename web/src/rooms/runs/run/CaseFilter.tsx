import { useAddress } from "../address";
import type { Told } from "../data/case";
import { VERDICTS } from "../data/verdict";
import { VerdictBadge } from "../parts/VerdictBadge";

/** Which cases to show; what is chosen is in the address. */
export function CaseFilter({ cases }: { cases: readonly Told[] }) {
  const [params, change] = useAddress();
  const chosen = params.get("verdict") ?? "";
  const counts = new Map<string, number>();
  for (const one of cases) counts.set(one.verdict, (counts.get(one.verdict) ?? 0) + 1);
  const offered = VERDICTS.filter((verdict) => counts.has(verdict) || verdict === chosen);
  return (
    <search className="row case-filter">
      <label className="grow">
        <span className="visually-hidden">Find cases by name, file or tag</span>
        <input
          type="search"
          placeholder="Find by name, file or tag"
          value={params.get("q") ?? ""}
          onChange={(event) => change({ q: event.target.value })}
        />
      </label>
      <fieldset className="buttons">
        <legend className="visually-hidden">Verdict</legend>
        <button
          type="button"
          className="button small"
          aria-pressed={chosen === ""}
          onClick={() => change({ verdict: null })}
        >
          all {cases.length.toLocaleString()}
        </button>
        {offered.map((verdict) => (
          <button
            key={verdict}
            type="button"
            className="button small"
            aria-pressed={chosen === verdict}
            onClick={() => change({ verdict: chosen === verdict ? null : verdict })}
          >
            <VerdictBadge verdict={verdict} /> {(counts.get(verdict) ?? 0).toLocaleString()}
          </button>
        ))}
      </fieldset>
    </search>
  );
}
