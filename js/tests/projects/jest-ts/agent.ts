import type { Session } from "agent-rehearsal";

/** Stands for an agent: it reads a message, calls tools, and gives its answer. */
export async function agent(message: string, session: Session): Promise<string> {
  const order = Number(/\d+/.exec(message)?.[0]);
  const { refunded } = await session.call("refund", { order });
  return refunded ? "Your money is on its way." : "I could not do that.";
}
