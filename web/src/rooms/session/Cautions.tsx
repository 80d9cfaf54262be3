import { Fragment, type ReactNode, useState } from "react";
import type { Session } from "../../api/client";
import { Notice } from "../../ui/Notice";

/** So many are shown until somebody asks for all. */
const SHOWN = 3;

/** What `adk eval` could not run of a golden trace, before it is written. */
export function Cautions({ session }: { session: Session }) {
  const [all, setAll] = useState(false);
  const cautions = session.cautions ?? [];
  if (cautions.length === 0) return null;
  const shown = all ? cautions : cautions.slice(0, SHOWN);
  return (
    <Notice tone="warn" quiet>
      <p>
        <code>adk eval</code> can load this golden trace, and cannot run it to its end:
      </p>
      <ul aria-label="Why adk eval cannot run it">
        {shown.map((caution) => (
          <li key={caution}>
            <Words text={caution} />
          </li>
        ))}
      </ul>
      {cautions.length > shown.length && (
        <button type="button" className="button small" onClick={() => setAll(true)}>
          All {cautions.length} reasons
        </button>
      )}
      <p>{whatRuns(session.runnable_messages ?? 0)}</p>
    </Notice>
  );
}

function whatRuns(messages: number): string {
  if (messages === 0)
    return "Nothing before that could be run by itself, so it can only be exported as it is.";
  const many = messages === 1 ? "The first message" : `The first ${messages} messages`;
  return `${many} can be run: export only what runs, or all of it as it is.`;
}

/** A sentence with its `names` as such, and each event it speaks of as a link. */
function Words({ text }: { text: string }) {
  return text.split(/(`[^`]+`|event \d+)/).map((piece, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a text are known by their order
    <Fragment key={index}>{drawn(piece)}</Fragment>
  ));
}

function drawn(piece: string): ReactNode {
  const seq = /^event (\d+)$/.exec(piece)?.[1];
  if (seq !== undefined) return <a href={`#e${seq}`}>{piece}</a>;
  return piece.startsWith("`") ? <code>{piece.slice(1, -1)}</code> : piece;
}
