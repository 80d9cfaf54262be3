import { useState } from "react";
import type { Json } from "../../api/client";
import { isBranch } from "../../json/exact";
import { oneLine } from "../../json/show";
import { Tree } from "../../json/Tree";
import type { Change, Kept, StateView } from "../../ledger/state";
import { LongText } from "../../ui/LongText";

/** So many fields of a scope are shown at a time. */
const SHOWN = 30;

/** The state as it is now, by scope, each field with the event that made it so. */
export function StatePanel({ state }: { state: StateView }) {
  const scopes = [...state.scopes].filter(([, fields]) => fields.size > 0);
  if (scopes.length === 0) return null;
  const count = scopes.reduce((sum, [, fields]) => sum + fields.size, 0);
  return (
    <details className="card state-panel" open>
      <summary>
        <h2>State ({count})</h2>
      </summary>
      {state.isPart && <p className="soft">Some values are large, and here in part.</p>}
      {scopes.map(([scope, fields]) => (
        <Scope key={scope} name={scope} fields={fields} />
      ))}
    </details>
  );
}

function Scope({ name, fields }: { name: string; fields: ReadonlyMap<string, Kept> }) {
  const [shown, setShown] = useState(SHOWN);
  const left = fields.size - shown;
  return (
    <section aria-label={`State of ${name}`}>
      <h3 className="mono">{name}</h3>
      <dl className="state-fields">
        {[...fields].slice(0, shown).map(([key, { value, seq }]) => (
          <div key={key}>
            <dt className="mono">
              {key}{" "}
              <a className="soft" href={`#e${seq}`} title="The event that made it so">
                #{seq}
              </a>
            </dt>
            <dd>
              {isBranch(value) ? (
                <Tree value={value} label={key} depth={1} />
              ) : (
                <span className="mono">
                  <LongText text={written(value)} />
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {left > 0 && (
        <button type="button" className="button small" onClick={() => setShown(shown + SHOWN)}>
          {Math.min(SHOWN, left)} more of {left}
        </button>
      )}
    </section>
  );
}

/** What an event changed of the state. */
export function StateChanges({ changes }: { changes: readonly Change[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? changes : changes.slice(0, SHOWN);
  return (
    <div className="state-changes">
      <p className="soft">Changed the state:</p>
      <ul>
        {shown.map(({ scope, key, before, after }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a field may be changed twice by one event
          <li key={index} className="mono">
            <span className="soft">{scope}.</span>
            {key}:{" "}
            {before !== undefined && (
              <>
                <del>
                  <span className="visually-hidden">was </span>
                  {oneLine(written(before), 200)}
                </del>{" "}
                <span aria-hidden="true">→ </span>
              </>
            )}
            {after === undefined ? <em>removed</em> : <ins>{oneLine(written(after), 200)}</ins>}
          </li>
        ))}
      </ul>
      {changes.length > shown.length && (
        <button type="button" className="button small" onClick={() => setAll(true)}>
          All {changes.length} changes
        </button>
      )}
    </div>
  );
}

const written = (value: Json): string =>
  typeof value === "string" ? JSON.stringify(value) : oneLine(value, 10_000);
