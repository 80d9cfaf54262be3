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
  if (state.isPending && state.failureReason instanceof Unreachable)
    return <Notice tone="warn">The server is away. This is sent as soon as it is back, once.</Notice>;
  if (state.error) return <ProblemNotice error={state.error} />;
  return null;
}
