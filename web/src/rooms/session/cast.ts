import { useQuery } from "@tanstack/react-query";
import { type Agent, get, type JsonObject, type Session } from "../../api/client";
import { useCue } from "../../api/queries";
import type { ToolDeclaration } from "../../ledger/event";
import type { ModelRequest } from "./RequestDialog";

/** What is known of the agent that a session is about. */
export interface Cast {
  instruction: string | null;
  tools: ToolDeclaration[];
  inputSchema: JsonObject | null;
  online: boolean;
}

/** Reads what the agent's host says of it, or else what the agent asks its model with. */
export function useCast(session: Session): Cast {
  const agent = useQuery({
    queryKey: ["agents", session.agent],
    queryFn: ({ signal }) => get<Agent>(`/v1/agents/${encodeURIComponent(session.agent ?? "")}`, signal),
    enabled: Boolean(session.agent && session.host),
    refetchInterval: 10_000,
    retry: false,
  });
  const cue = useCue(session.id, session.head);
  const request = (cue.data?.prompt as { request?: ModelRequest } | undefined)?.request;
  const known = agent.data;
  return {
    instruction: known?.instruction ?? request?.system ?? null,
    tools: (known?.tools as ToolDeclaration[] | undefined) ?? request?.tools ?? [],
    inputSchema: (known?.input_schema as JsonObject | null | undefined) ?? null,
    online: known?.online ?? false,
  };
}
