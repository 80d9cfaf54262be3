/** A session with many events, as JSON Lines. */

export function longLedger(session, count) {
  const lines = [];
  const at = (seq) => new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString();
  const add = (author, body, more = {}) => {
    const seq = lines.length + 1;
    lines.push(JSON.stringify({ seq, session, at: at(seq), author, ...more, body }));
  };
  add("rehearsal", { type: "session_started", version: 1, part: "main", agent: "clerk" });
  add("user", { type: "user_message", content: { role: "user", parts: [{ text: "Look up all orders" }] } });
  for (let number = 0; lines.length < count - 1; number += 1) {
    const call = `call-${number}`;
    add("clerk", {
      type: "tool_call",
      call,
      tool: "look_up",
      args: { order: number, verbose: number % 3 === 0 },
    });
    if (lines.length >= count - 1) break;
    const outcome =
      number % 10 === 9
        ? {
            error: {
              type: "NotFound",
              message: `there is no order ${number}`,
              traceback: "Traceback\n  line 1",
            },
          }
        : {
            output: {
              order: number,
              items: [
                { name: "lamp", price: 12.5 },
                { name: "shade", price: 7 },
              ],
              note: "word ".repeat(20),
            },
          };
    add(
      "clerk",
      { type: "tool_result", call, tool: "look_up", outcome },
      { decision: { by: "tool", micros: 1500 } },
    );
  }
  add("clerk", { type: "final_response", output: "These are all." });
  return `${lines.join("\n")}\n`;
}
