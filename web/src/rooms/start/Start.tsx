import { useMutation } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import { useLocation, useSearchParams } from "wouter";
import { type Agent, type JsonObject, post, type Session, Unreachable } from "../../api/client";
import { queries, useAgents } from "../../api/queries";
import { readJsonText } from "../../json/exact";
import { oneLine } from "../../json/show";
import { useDraft } from "../../ui/draft";
import { ProblemNotice } from "../../ui/Notice";
import { Prose } from "../../ui/Prose";
import { useTitle } from "../../ui/title";
import { HowToConnect } from "../home/HowToConnect";
import { type QueryBody, QueryForm } from "./QueryForm";
import "../../style/session.css";

/** Begins a session: which agent, and what the user asks it. */
export function Start() {
  useTitle("New session");
  const agents = useAgents();
  const [params, setParams] = useSearchParams();
  // Arrow keys go from agent to agent; whoever points at one goes on with the query.
  const pointed = useRef(false);
  const online = unique((agents.data?.agents ?? []).filter((agent) => agent.online));
  const chosen =
    online.find((agent) => agent.name === params.get("agent")) ??
    (online.length === 1 ? online[0] : undefined);
  return (
    <div className="start stack">
      <h1>New session</h1>
      {agents.error && <ProblemNotice error={agents.error} />}
      {agents.isPending && <p className="soft">Looking for agents…</p>}
      {agents.data && online.length === 0 && <HowToConnect />}
      {online.length > 1 && (
        <fieldset className="card">
          <legend className="legend-heading">Which agent do you play?</legend>
          <div className="agent-options">
            {online.map((agent) => (
              <label
                key={agent.name}
                className="agent-option"
                onPointerDown={() => {
                  pointed.current = true;
                }}
                onKeyDown={() => {
                  pointed.current = false;
                }}
              >
                <input
                  type="radio"
                  name="agent"
                  checked={agent.name === chosen?.name}
                  onChange={() => setParams({ agent: agent.name }, { replace: true })}
                />
                <span>
                  <strong>{agent.name}</strong>
                  <span className="soft">
                    {agent.description ? ` ${agent.description}` : ""} · {toolCount(agent)}
                  </span>
                </span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      {chosen && <Ask key={chosen.name} agent={chosen} focus={pointed.current ? "always" : "at rest"} />}
    </div>
  );
}

const toolCount = ({ tools }: Agent) =>
  !tools?.length ? "no tools" : tools.length === 1 ? "1 tool" : `${tools.length} tools`;

/** Several hosts may offer an agent of one name; the server gives the session to the one that is there. */
const unique = (agents: Agent[]) => [...new Map(agents.map((agent) => [agent.name, agent])).values()];

function Ask({ agent, focus }: { agent: Agent; focus: "always" | "at rest" }) {
  const [, go] = useLocation();
  const draft = `start-${agent.name}`;
  const [, setDraft] = useDraft<unknown>(draft, null);
  // The same session however often this is sent.
  const [id] = useState(() => crypto.randomUUID?.() ?? uuid());
  const [more, setMore] = useDraft<More>(`start-settings-${agent.name}`, NO_MORE);
  const [stateProblem, setStateProblem] = useState<string | null>(null);
  const start = useMutation<Session, Error, QueryBody>({
    mutationFn: (query) => {
      const state = more.state.trim() === "" ? {} : { state: readJsonText(more.state) as JsonObject };
      // What was asked tells sessions apart in lists.
      const description = more.description.trim() || oneLine("text" in query ? query.text : query.value, 100);
      return post("/v1/sessions", {
        id,
        agent: agent.name,
        query,
        keep_open: more.keepOpen,
        description,
        ...state,
      });
    },
    retry: (_, error) => error instanceof Unreachable,
    onSuccess: (session) => {
      setDraft(undefined);
      setMore(undefined);
      void queries.invalidateQueries({ queryKey: ["sessions"] });
      go(`/sessions/${session.id}`);
    },
  });
  return (
    <section className="card stack" aria-label={`Ask ${agent.name}`}>
      {agent.instruction && (
        <details open>
          <summary>
            <h2>Instructions of {agent.name}</h2>
          </summary>
          <div className="instructions-text">
            <Prose text={agent.instruction} label="the instructions" markdown />
          </div>
        </details>
      )}
      <QueryForm
        draft={draft}
        schema={(agent.input_schema as JsonObject | null | undefined) ?? null}
        button="Start session"
        sending={start}
        focus={focus}
        onSend={(query) => {
          const problem = stateProblemOf(more.state);
          setStateProblem(problem);
          if (problem === null) start.mutate(query);
        }}
      />
      <Options more={more} onChange={setMore} stateProblem={stateProblem} />
    </section>
  );
}

interface More {
  description: string;
  keepOpen: boolean;
  state: string;
}

const NO_MORE: More = { description: "", keepOpen: false, state: "" };

function Options({
  more,
  onChange,
  stateProblem,
}: {
  more: More;
  onChange(more: More): void;
  stateProblem: string | null;
}) {
  const [description, state, problem] = [useId(), useId(), useId()];
  // What was kept from before must not be sent unseen.
  const [open, setOpen] = useState(more.description !== "" || more.keepOpen || more.state !== "");
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (stateProblem === null) return;
    setOpen(true);
    requestAnimationFrame(() => field.current?.focus());
  }, [stateProblem]);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>More settings</summary>
      <div className="stack tight options">
        <label htmlFor={description}>Description</label>
        <input
          id={description}
          value={more.description}
          maxLength={500}
          onChange={(event) => onChange({ ...more, description: event.target.value })}
        />
        <label htmlFor={state}>State it begins with, as JSON</label>
        <textarea
          id={state}
          ref={field}
          className="mono"
          placeholder='{"user:name": "Ada"}'
          value={more.state}
          aria-invalid={stateProblem !== null}
          aria-describedby={stateProblem === null ? undefined : problem}
          onChange={(event) => onChange({ ...more, state: event.target.value })}
        />
        {stateProblem !== null && (
          <p id={problem} className="field-problem">
            {stateProblem}
          </p>
        )}
        <label className="row">
          <input
            type="checkbox"
            checked={more.keepOpen}
            onChange={(event) => onChange({ ...more, keepOpen: event.target.checked })}
          />
          Go on after the final response, for more messages
        </label>
      </div>
    </details>
  );
}

function stateProblemOf(text: string): string | null {
  if (text.trim() === "") return null;
  try {
    const value: unknown = readJsonText(text);
    return value !== null && typeof value === "object" && !Array.isArray(value)
      ? null
      : 'The state is an object, such as {"name": "Ada"}.';
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/** Without TLS on another machine, browsers have no `randomUUID`. */
function uuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
