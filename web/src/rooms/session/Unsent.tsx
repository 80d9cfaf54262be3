import type { Json, JsonObject, Session } from "../../api/client";
import { oneLine, pretty } from "../../json/show";
import { Copy } from "../../ui/Copy";
import { keepDraft, keptDraft, useDraft } from "../../ui/draft";
import { LongText } from "../../ui/LongText";
import { unsentOf } from "./unsent";

/** What somebody had typed when another answer was faster, or went another way: to be used, copied or let go. */
export function Unsent({ session }: { session: Session }) {
  const [rest, setRest] = useDraft<JsonObject | null>(unsentOf(session.id), null);
  if (rest === null) return null;
  const { head } = session;
  const use = () => {
    if (!head) return;
    keepDraft(head, {
      ...keptDraft<JsonObject>(head),
      ...rest,
      mode: "text" in rest || "value" in rest ? "final" : "call",
    });
    setRest(undefined);
  };
  return (
    <section className="card unsent" aria-labelledby="unsent-heading">
      <header>
        <h2 id="unsent-heading">Typed and not sent</h2>
      </header>
      <div className="stack tight">
        <p className="soft">
          You wrote this for a question that has been answered otherwise. It is kept here.
        </p>
        {Object.entries(rest).map(([what, value]) => (
          <pre key={what} className="code">
            <LongText text={inWords(what, value)} />
          </pre>
        ))}
        <div className="buttons">
          {head && (
            <button type="button" className="button" onClick={use}>
              Put it into this decision
            </button>
          )}
          <Copy text={() => Object.values(rest).map(asText).join("\n\n")} of="what was not sent" />
          <button type="button" className="button" onClick={() => setRest(undefined)}>
            Throw it away
          </button>
        </div>
      </div>
    </section>
  );
}

const asText = (value: Json): string => (typeof value === "string" ? value : pretty(value));

/** Arguments are told with their tools. */
function inWords(what: string, value: Json): string {
  if (what !== "args" || value === null || typeof value !== "object" || Array.isArray(value))
    return asText(value);
  return Object.entries(value)
    .map(([tool, args]) => `${tool} ${oneLine(args, 2000)}`)
    .join("\n");
}
