import { useEffect, useRef } from "react";
import { Unreachable } from "../../api/client";
import { Notice, ProblemNotice } from "../../ui/Notice";

/** As much of a mutation as is needed to tell how sending goes. */
export interface SendingState {
  isPending: boolean;
  error: Error | null;
  failureReason: Error | null;
}

/** How sending goes: under way, waiting for a server that is away, or refused with the reason. */
export function Sending({ state }: { state: SendingState }) {
  const message = useRef<HTMLDivElement>(null);
  const sent = useRef(false);
  useEffect(() => {
    // The field that was sent from could not be used meanwhile, and has lost the focus.
    if (sent.current && !state.isPending && state.error) message.current?.focus();
    sent.current = state.isPending;
  }, [state.isPending, state.error]);
  if (state.isPending && state.failureReason instanceof Unreachable)
    return <Notice tone="warn">The server is away. This is sent as soon as it is back, once.</Notice>;
  if (state.error)
    return (
      <div ref={message} tabIndex={-1}>
        <ProblemNotice error={state.error} />
      </div>
    );
  return null;
}
