import { expect, it } from "vitest";
import { normalise } from "../../src/form/normalise";

it("titles that were made of names give way to the names; others stay", () => {
  const schema = normalise({
    type: "object",
    title: "searchParams",
    properties: {
      max_results: { type: "integer", title: "Max Results" },
      a: { type: "integer", title: "A" },
      zip: { type: "string", title: "Postal code" },
    },
  });
  expect(schema).toMatchObject({ title: "searchParams", properties: { zip: { title: "Postal code" } } });
  const { properties } = schema as { properties: { [name: string]: object } };
  expect(properties.max_results).not.toHaveProperty("title");
  expect(properties.a).not.toHaveProperty("title");
});
