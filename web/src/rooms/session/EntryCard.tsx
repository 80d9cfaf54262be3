import { memo, type ReactNode, useState } from "react";
import { get, type Json } from "../../api/client";
import { Address } from "../../json/Address";
import { Media } from "../../json/Media";
import { addressOf } from "../../json/media";
import { oneLine } from "../../json/show";
import { Tree } from "../../json/Tree";
import { artifactOf } from "../../ledger/artifacts";
import type { Entry, Kind } from "../../ledger/entries";
import { type Body, type Content, callsOf, type LedgerEvent, textOf } from "../../ledger/event";
import type { Change } from "../../ledger/state";
import { Command } from "../../ui/Copy";
import { Icon, type IconName } from "../../ui/Icon";
import { Prose } from "../../ui/Prose";
import { Clock, duration } from "../../ui/time";
import { ArtifactContent } from "./Artifacts";
import { RequestDialog } from "./RequestDialog";
import { StateChanges } from "./StatePanel";
import { WholeEvent } from "./WholeEvent";

const ICONS: Record<Kind, IconName> = {
  user: "user",
  call: "call",
  output: "output",
  error: "error",
  final: "final",
  model: "model",
  quiet: "note",
};

interface EntryCardProps {
  session: string;
  entry: Entry;
  /** Whether it stands in the conversation rather than among all events. */
  brief: boolean;
  open: boolean;
  sought: boolean;
  /** What it changed of the state. */
  changes?: readonly Change[] | undefined;
  onToggle(seq: number, open: boolean): void;
}

/** One event. Its kind can be told by its icon, its word and its colour. */
export const EntryCard = memo(function EntryCard(props: EntryCardProps) {
  const { session, entry, brief, open, sought, changes, onToggle } = props;
  const { event, kind } = entry;
  const [asks, setAsks] = useState(false);
  const [whole, setWhole] = useState(false);
  const took = event.decision === undefined ? null : duration(event.decision.micros / 1000);
  return (
    <article
      id={`e${entry.seq}`}
      className={`entry-card ${kind}${sought ? " sought" : ""}`}
      data-depth={Math.min(entry.depth, 3)}
      aria-label={`${entry.word} ${entry.about}`.trim()}
    >
      <header>
        <button
          type="button"
          className="entry-fold"
          aria-expanded={open}
          onClick={() => onToggle(entry.seq, !open)}
        >
          <span className="entry-icon">
            <Icon name={ICONS[kind]} />
          </span>
          <span className="entry-word">{entry.word}</span>
          {entry.about !== "" && <span className="entry-about mono">{entry.about}</span>}
          {entry.depth > 0 && kind !== "quiet" && <span className="soft">in {event.author}</span>}
          {!open && <span className="entry-line soft clip">{summary(entry)}</span>}
        </button>
        <span className="entry-facts soft">
          {took !== null && kind !== "quiet" && <span title="How long it took">{took}</span>}
          {event.turn !== undefined && kind !== "output" && kind !== "error" && (
            <button type="button" className="button plain small" onClick={() => setAsks(true)}>
              What the model saw
            </button>
          )}
          <Clock at={event.at} />
          <a href={`#e${entry.seq}`} title="Link to this event">
            <span className="visually-hidden">Event </span>#{entry.seq}
          </a>
        </span>
      </header>
      {open && (
        <div className="entry-body">
          {event.truncated && (
            <div className="row">
              <span className="soft">This is large, and only a part of it is here.</span>
              <button type="button" className="button small" onClick={() => setWhole(true)}>
                Show it whole
              </button>
            </div>
          )}
          {/* A change of state says nothing else. */}
          {!(event.body.type === "state_change" && changes) && (
            <EntryBody session={session} entry={entry} brief={brief} />
          )}
          {changes && <StateChanges changes={changes} />}
        </div>
      )}
      {asks && event.turn !== undefined && (
        <RequestDialog session={session} turn={event.turn} onClose={() => setAsks(false)} />
      )}
      {whole && <WholeEvent session={session} seq={entry.seq} onClose={() => setWhole(false)} />}
    </article>
  );
});

/** A line that says what a folded entry is about. */
function summary({ event }: Entry): string {
  const { body } = event;
  switch (body.type) {
    case "user_message":
      return oneLine(textOf(body.content));
    case "tool_call":
      return oneLine(body.args);
    case "tool_result":
    case "repeated_result":
    case "late_result":
      return "error" in body.outcome
        ? oneLine(`${body.outcome.error.type}: ${body.outcome.error.message}`)
        : oneLine(body.outcome.output);
    case "final_response":
    case "agent_ended":
      return oneLine(body.output);
    case "model_response":
      return oneLine(textOf(body.content));
    case "state_change":
      return oneLine(body.changes);
    case "run_failed":
    case "tool_exception":
      return oneLine(`${body.error.type}: ${body.error.message}`);
    case "artifact_saved":
      return `version ${body.version}`;
    case "note":
      return oneLine(body.data);
    case "error":
      return oneLine(body.message);
    case "cue_dismissed":
    case "turn_decision":
    case "user_hung_up":
    case "time_limit":
    case "agent_log":
    case "world_log":
    case "cancel_reason":
      return oneLine(fieldsOf(body));
    default:
      return "";
  }
}

interface EntryBodyProps {
  session: string;
  entry: Entry;
  brief: boolean;
}

function EntryBody({ session, entry, brief }: EntryBodyProps): ReactNode {
  const { body } = entry.event;
  /** How to read what is shown here whole, where it was cut. */
  const wholeOf = (part: (body: Body) => Json) =>
    entry.event.truncated
      ? async () => part((await get<LedgerEvent>(`/v1/sessions/${session}/events/${entry.seq}`)).body)
      : undefined;
  switch (body.type) {
    case "user_message":
      return <UserSaid content={body.content} />;
    case "tool_call":
      return Object.keys(body.args).length === 0 ? (
        <p className="soft">no arguments</p>
      ) : (
        <Tree
          value={body.args}
          label={`the arguments of ${body.tool}`}
          whole={wholeOf((body) => (body.type === "tool_call" ? body.args : null))}
        />
      );
    case "tool_result":
    case "repeated_result":
    case "late_result":
      return "error" in body.outcome ? (
        <Failure {...body.outcome.error} />
      ) : (
        <Value
          value={unwrapped(body.outcome.output)}
          label={`the output of ${body.tool}`}
          whole={wholeOf((body) => unwrapped(outputOf(body)))}
        />
      );
    case "final_response":
      return <Value value={body.output} label="the final response" markdown whole={wholeOf(outputOf)} />;
    case "model_response":
      return (
        <div className="stack tight">
          {textOf(body.content) !== "" && (
            <Prose text={textOf(body.content)} label="what the model said" markdown />
          )}
          <Media value={body.content as unknown as Json} label="what the model said" />
          {/* The conversation has the calls as entries of their own. */}
          {(brief ? [] : callsOf(body.content)).map((call, index) => (
            // Calls of one response have an order and often no id.
            // biome-ignore lint/suspicious/noArrayIndexKey: the order is what identifies them
            <div key={index}>
              <span className="mono">{call.name}</span>
              <Tree value={call.args ?? {}} label={`the arguments of ${call.name}`} />
            </div>
          ))}
        </div>
      );
    case "error":
      return <Failure type={body.kind} message={body.message} />;
    case "run_failed":
    case "tool_exception":
      return <Failure {...body.error} />;
    case "artifact_saved": {
      const artifact = artifactOf(entry.event);
      return artifact && <ArtifactContent session={session} artifact={artifact} />;
    }
    case "note":
      return (
        <Tree
          value={body.data}
          label={entry.word.toLowerCase()}
          whole={wholeOf((body) => (body.type === "note" ? body.data : null))}
        />
      );
    default:
      return <Tree value={fieldsOf(body)} label={entry.word.toLowerCase()} whole={wholeOf(fieldsOf)} />;
  }
}

/** ADK puts a result that is not an object under `result`; people gave and expect the value itself. */
function unwrapped(output: Json): Json {
  if (output === null || typeof output !== "object" || Array.isArray(output)) return output;
  const keys = Object.keys(output);
  return keys.length === 1 && keys[0] === "result" ? (output.result ?? null) : output;
}

/** What an event says besides what kind it is. */
function fieldsOf({ type: _, ...fields }: Body): Json {
  return fields as unknown as Json;
}

/** What the user said, or answered to a call that was left to them. */
function UserSaid({ content }: { content: Content }) {
  const text = textOf(content);
  const answers = (content.parts ?? []).flatMap((part) => part.function_response ?? []);
  return (
    <>
      {(text !== "" || answers.length === 0) && <Prose text={text} label="what the user said" />}
      <Media value={content as unknown as Json} label="what the user said" />
      {answers.map((answer) => (
        <Tree
          key={answer.id ?? answer.name}
          value={{ [answer.name]: answer.response ?? {} }}
          label={`the answer to ${answer.name}`}
        />
      ))}
    </>
  );
}

/** What an event gives: a tool's output, or the final response. */
function outputOf(body: Body): Json {
  if (body.type === "final_response") return body.output;
  return body.type === "tool_result" && "output" in body.outcome ? body.outcome.output : null;
}

interface ValueProps {
  value: Json;
  label: string;
  markdown?: boolean;
  whole?: (() => Promise<Json>) | undefined;
}

function Value({ value, label, markdown = false, whole }: ValueProps) {
  const address = typeof value === "string" ? addressOf(value) : null;
  return (
    <>
      <Media value={value} label={label} whole={whole} />
      {address !== null && (
        <p>
          <Address to={address} />
        </p>
      )}
      {typeof value === "string" ? (
        <Prose text={value} label={label} markdown={markdown} whole={whole} />
      ) : (
        <Tree value={value} label={label} whole={whole} />
      )}
    </>
  );
}

function Failure({ type, message, traceback }: { type: string; message: string; traceback?: string }) {
  return (
    <div className="stack tight">
      <p className="failure">
        <strong className="mono">{type}</strong>
        <span className="to-the-letter">{message}</span>
      </p>
      {traceback !== undefined && (
        <details>
          <summary>Traceback</summary>
          <Command text={traceback} />
        </details>
      )}
    </div>
  );
}
