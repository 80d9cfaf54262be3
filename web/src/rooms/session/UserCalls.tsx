import { useMutation } from "@tanstack/react-query";
import { type Json, type JsonObject, post, type Session } from "../../api/client";
import { queries } from "../../api/queries";
import { useChecked } from "../../form/checked";
import { ValueEditor } from "../../form/ValueEditor";
import { Tree } from "../../json/Tree";
import { useDraft } from "../../ui/draft";
import { SendKey } from "../../ui/SendKey";
import { Sending } from "./Sending";

type Call = NonNullable<Session["waiting_calls"]>[number];

const CONFIRMATION = "adk_request_confirmation";
const ANYTHING: JsonObject = { type: "object" };

/** Calls that the agent has left to its user: to confirm something, or to give what a tool could not. */
export function UserCalls({ session, isAnswered }: { session: Session; isAnswered: boolean }) {
  if (session.status !== "active" || !isAnswered || !session.host) return null;
  return (session.waiting_calls ?? []).map((call) => (
    <UserCall key={call.call_id} session={session} call={call} />
  ));
}

function UserCall({ session, call }: { session: Session; call: Call }) {
  const answer = useMutation({
    mutationFn: (response: JsonObject) => {
      const part = { function_response: { id: call.call_id, name: call.tool, response } };
      return post(`/v1/sessions/${session.id}/query`, { content: { role: "user", parts: [part] } });
    },
    onSuccess: () => void queries.invalidateQueries({ queryKey: ["session", session.id] }),
  });
  const isConfirmation = call.tool === CONFIRMATION;
  const { what, hint } = asked(call);
  const heading = `user-call-${call.call_id}`;
  return (
    <section className="card" aria-labelledby={heading}>
      <header>
        <h2 id={heading}>
          {isConfirmation ? "The agent asks for your confirmation" : `${call.tool} waits for you`}
        </h2>
      </header>
      <div className="stack tight">
        {hint !== "" && <p>{hint}</p>}
        <Tree value={what} label={`what ${call.tool} asks`} />
        {isConfirmation ? (
          <div className="buttons">
            <button
              type="button"
              className="button primary"
              disabled={answer.isPending}
              onClick={() => answer.mutate({ confirmed: true })}
            >
              Approve
            </button>
            <button
              type="button"
              className="button"
              disabled={answer.isPending}
              onClick={() => answer.mutate({ confirmed: false })}
            >
              Reject
            </button>
          </div>
        ) : (
          <Give call={call} isPending={answer.isPending} onGive={(value) => answer.mutate(value)} />
        )}
        <Sending state={answer} />
      </div>
    </section>
  );
}

/** Gives a call of which only the agent knows what it needs. */
function Give({
  call,
  isPending,
  onGive,
}: {
  call: Call;
  isPending: boolean;
  onGive(value: JsonObject): void;
}) {
  const [value, setValue] = useDraft<Json>(`give-${call.call_id}`, {});
  const checked = useChecked(ANYTHING);
  return (
    <form
      className="stack tight"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (checked.passes(value, event.currentTarget)) onGive(value as JsonObject);
      }}
    >
      <ValueEditor
        id={`give-${call.call_id}`}
        label={`What ${call.tool} gets`}
        schema={ANYTHING}
        value={value}
        onChange={(next) => {
          setValue(next);
          checked.edited(next);
        }}
        problems={checked.problems}
        disabled={isPending}
        onRawProblem={checked.onRawProblem}
      />
      <div className="buttons">
        <button type="submit" className="button primary" disabled={isPending}>
          Give this
        </button>
        <SendKey />
      </div>
    </form>
  );
}

/** What is to be confirmed: ADK puts the call and a word about it into the arguments. */
function asked(call: Call): { what: Json; hint: string } {
  const args = (call.args ?? {}) as JsonObject;
  const original = args.originalFunctionCall ?? args.original_function_call;
  const about = (args.toolConfirmation ?? args.tool_confirmation ?? {}) as JsonObject;
  const hint = typeof about.hint === "string" ? about.hint : "";
  if (original === null || typeof original !== "object" || Array.isArray(original))
    return { what: args, hint };
  return { what: { [String(original.name)]: original.args ?? {} }, hint };
}
