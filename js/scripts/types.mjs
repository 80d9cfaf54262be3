// Writes src/schema.ts, the types of results, from the description in docs/reference/openapi.json.
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";

const HEAD = `// The form of results, from docs/reference/openapi.json. Do not edit: \`npm run types\` writes it.
`;

/** The schema of a run's results, with only those others that it names. */
function described() {
  const file = new URL("../../docs/reference/openapi.json", import.meta.url);
  const schemas = JSON.parse(readFileSync(file, "utf8")).components.schemas;
  const text = (schema) => JSON.stringify(schema).replaceAll("#/components/schemas/", "#/$defs/");
  const $defs = {};
  const waiting = ["RunResult"];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    if (name in $defs) continue;
    const found = text(schemas[name]);
    $defs[name] = JSON.parse(found);
    waiting.push(...[...found.matchAll(/"#\/\$defs\/(\w+)"/g)].map((match) => match[1]));
  }
  const { RunResult, ...others } = $defs;
  return { ...RunResult, $defs: others };
}

/** The types, as text; `schema` is what `rehearse schema result` gives, and the same. */
export async function types(schema = described()) {
  // With a description beside its `$ref`, a schema would become a type of its own.
  const plain = JSON.parse(JSON.stringify(schema), (_key, value) =>
    value?.$ref ? { $ref: value.$ref } : value,
  );
  const sorted = Object.entries(plain.$defs).sort(([one], [other]) => (one < other ? -1 : 1));
  return compile({ ...plain, title: "RunResult", $defs: Object.fromEntries(sorted) }, "RunResult", {
    additionalProperties: false,
    bannerComment: HEAD,
    format: true,
    unreachableDefinitions: false,
    style: { printWidth: 110 },
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  writeFileSync(new URL("../src/schema.ts", import.meta.url), await types());
}
