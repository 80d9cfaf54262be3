import { useMemo, useRef } from "react";
import type { Cue, Json, JsonObject } from "../../api/client";
import { keptDraft, useDraft } from "../../ui/draft";
import { firstField, focusSoon } from "../../ui/focus";
import { Icon } from "../../ui/Icon";
import { useAnswer } from "./answering";
import { CallComposer } from "./CallComposer";
import { FinalComposer } from "./FinalComposer";
import type { ModelRequest } from "./RequestDialog";
import { keepRest } from "./unsent";

/** A call that is ready to be sent. */
export interface PreparedCall {
  tool: string;
  args: Json;
}

/** What somebody has decided so far as the model. */
export interface ModelDraft {
  mode: "call" | "final";
  /** The tool whose form is open. */
  tool: string | null;
  /** What was entered, by tool. */
  args: { [tool: string]: Json };
  prepared: PreparedCall[];
  /** Where the call in the form was taken from among them; null is a new one. */
  place: number | null;
  /** What the model says beside its calls. */
  aside: string;
  /** The final response: a text, or a value of the output schema. */
  text: string;
  value?: Json;
}

const EMPTY: ModelDraft = {
  mode: "call",
  tool: null,
  args: {},
  prepared: [],
  place: null,
  aside: "",
  text: "",
};

/** Two choices at each step: call tools, or give the final response. */
export function ModelDecision({ cue, onTaken }: { cue: Cue; onTaken(): void }) {
  const request = useMemo(() => requestOf(cue), [cue]);
  const [kept, setDraft] = useDraft<ModelDraft>(cue.id, EMPTY);
  const draft = { ...EMPTY, ...kept };
  const change = (part: Partial<ModelDraft>) => setDraft({ ...draft, ...part });
  const sent = useRef<JsonObject>({});
  const answer = useAnswer(cue, () => {
    onTaken();
    // The draft is the same in every tab: what was typed there and not sent is not lost by sending here.
    keepRest(cue.session, { ...EMPTY, ...keptDraft<ModelDraft>(cue.id) }, sent.current);
    setDraft(undefined);
  });
  const send = (body: JsonObject) => {
    sent.current = body;
    answer.mutate(body);
  };
  const forms = useRef<HTMLDivElement>(null);
  const noTools = request.tools.length === 0;
  const mode = noTools ? "final" : draft.mode;
  return (
    <div className="stack" ref={forms}>
      <fieldset className="segments wide">
        <legend className="visually-hidden">What does the agent do next?</legend>
        <button
          type="button"
          className="segment"
          aria-pressed={mode === "call"}
          disabled={noTools}
          onClick={() => change({ mode: "call" })}
        >
          <Icon name="call" />
          Call a tool
        </button>
        <button
          type="button"
          className="segment"
          aria-pressed={mode === "final"}
          onClick={() => {
            change({ mode: "final" });
            focusSoon(() => firstField(forms.current));
          }}
        >
          <Icon name="final" />
          Give the final response
        </button>
      </fieldset>
      {noTools && <p className="soft">This agent has no tools; it can only respond.</p>}
      {mode === "call" ? (
        <CallComposer
          cue={cue.id}
          tools={request.tools}
          draft={draft}
          onChange={change}
          onSend={send}
          sending={answer}
        />
      ) : (
        <FinalComposer
          cue={cue.id}
          schema={request.output_schema}
          draft={draft}
          onChange={change}
          onSend={send}
          sending={answer}
        />
      )}
    </div>
  );
}

export function requestOf(cue: Cue): ModelRequest {
  const prompt = (cue.prompt ?? {}) as { request?: ModelRequest };
  return { ...prompt.request, contents: prompt.request?.contents ?? [], tools: prompt.request?.tools ?? [] };
}
