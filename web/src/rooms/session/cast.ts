import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { type Agent, get, type JsonObject, type Session } from "../../api/client";
import { useCue } from "../../api/queries";
import type { ToolDeclaration } from "../../ledger/event";
import type { LogView } from "../../ledger/log";
import type { ModelRequest } from "./RequestDialog";

/** What is known of the agent that a session is about. */
export interface Cast {
  /** Whose instructions and tools these are: an agent of the session's agent may be the one that asks. */
  agent: string | null;
  instruction: string | null;
  tools: ToolDeclaration[];
  inputSchema: JsonObject | null;
  /** Whether the program that runs it is there; unknown for agents that run in their own. */
  online: boolean | null;
}

interface Asked {
  agent: string;
  request?: ModelRequest;
}

/** Reads what the agent's host says of it, or else what the agent asks its model with. */
export function useCast(session: Session, log: LogView): Cast {
  const agent = useQuery({
    queryKey: ["agents", session.agent],
    queryFn: ({ signal }) => get<Agent>(`/v1/agents/${encodeURIComponent(session.agent ?? "")}`, signal),
    enabled: Boolean(session.agent && session.host),
    refetchInterval: 10_000,
    retry: false,
  });
  const cue = useCue(session.id, session.head);
  const known = agent.data;
  const asks: Asked | undefined =
    cue.data?.kind === "model"
      ? { agent: cue.data.agent, ...(cue.data.prompt as { request?: ModelRequest } | undefined) }
      : undefined;
  // Between two questions the last one stands; whoever comes when nothing is asked reads the last turn.
  const before = useRef<Asked | undefined>(undefined);
  if (asks) before.current = asks;
  const turn = lastTurn(log);
  const last = useQuery({
    queryKey: ["turn", session.id, turn],
    queryFn: ({ signal }) => get<Asked>(`/v1/sessions/${session.id}/turns/${turn}`, signal),
    enabled: turn !== null && !session.head && !session.host && !before.current,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const asked = asks ?? before.current ?? last.data;
  const byHost = known && (!asked || asked.agent === session.agent);
  return {
    agent: byHost ? known.name : (asked?.agent ?? null),
    instruction: (byHost ? known.instruction : asked?.request?.system) ?? null,
    tools: (byHost ? (known.tools as ToolDeclaration[] | undefined) : asked?.request?.tools) ?? [],
    inputSchema: (known?.input_schema as JsonObject | null | undefined) ?? null,
    online: known?.online ?? null,
  };
}

/** The last time that a model was asked something. */
function lastTurn({ events, complete }: LogView): string | null {
  if (!complete) return null;
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index];
    if (event?.body.type === "model_request" && event.turn) return event.turn;
  }
  return null;
}
