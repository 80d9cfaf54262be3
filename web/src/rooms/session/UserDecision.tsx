import { useId } from "react";
import type { Cue } from "../../api/client";
import { sendsByKey } from "../../form/keys";
import { useDraft } from "../../ui/draft";
import { SendKey } from "../../ui/SendKey";
import { useAnswer } from "./answering";
import { Sending } from "./Sending";

/** A person says what the user says next, or ends the conversation. */
export function UserDecision({ cue, onTaken }: { cue: Cue; onTaken(): void }) {
  const prompt = (cue.prompt ?? {}) as { transcript?: string; persona?: string; objective?: string };
  const [text, setText] = useDraft<string>(cue.id, "");
  const answer = useAnswer(cue, () => {
    onTaken();
    setText(undefined);
  });
  const field = useId();
  return (
    <form
      className="stack"
      onKeyDown={sendsByKey}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "" && !answer.isPending) answer.mutate({ text });
      }}
    >
      {prompt.persona && (
        <p>
          <span className="soft">You are: </span>
          {prompt.persona}
        </p>
      )}
      {prompt.objective && (
        <p>
          <span className="soft">You want: </span>
          {prompt.objective}
        </p>
      )}
      {prompt.transcript && (
        <details>
          <summary>The conversation so far</summary>
          <pre className="code">{prompt.transcript}</pre>
        </details>
      )}
      <div className="stack tight">
        <label htmlFor={field}>The user says</label>
        <textarea id={field} rows={4} value={text} onChange={(event) => setText(event.target.value)} />
      </div>
      <Sending state={answer} />
      <div className="buttons">
        <button
          type="submit"
          className="button primary"
          aria-disabled={answer.isPending || undefined}
          disabled={text.trim() === ""}
        >
          Say it
        </button>
        <button
          type="button"
          className="button"
          aria-disabled={answer.isPending || undefined}
          onClick={() => {
            if (!answer.isPending) answer.mutate({ end: true });
          }}
        >
          End the conversation
        </button>
        <SendKey />
      </div>
    </form>
  );
}
