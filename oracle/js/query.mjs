// Answers (document, query) pairs with mingo, for crates/rehearsal-core/tests/query_oracle.rs.
//
// stdin:  one JSON object per line, {"document": …, "query": …}
// stdout: one line per pair, `true`, `false`, or {"error": "…"} where mingo refuses the query

import { createInterface } from "node:readline";
import { Query } from "mingo";

const answers = [];
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { document, query } = JSON.parse(line);
  try {
    answers.push(JSON.stringify(new Query(query).test(document)));
  } catch (error) {
    answers.push(JSON.stringify({ error: String(error) }));
  }
}
process.stdout.write(answers.join("\n") + "\n");
