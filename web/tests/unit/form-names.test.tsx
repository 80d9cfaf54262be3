import { afterEach, expect, it } from "vitest";
import { closeAll, names, show } from "./form-help";

afterEach(closeAll);

const words = (box: HTMLElement, selector: string): (string | null)[] =>
  [...box.querySelectorAll(selector)].map((one) => one.textContent);

it("two fields of one class are told apart by their names", () => {
  const form = show(
    {
      type: "object",
      properties: {
        start: { $ref: "#/$defs/Place" },
        end: { $ref: "#/$defs/Place" },
        place: { $ref: "#/$defs/Place" },
        stops: { type: "array", title: "Halts", items: { $ref: "#/$defs/Place" } },
        home: { anyOf: [{ $ref: "#/$defs/Place" }, { type: "null" }] },
      },
      required: ["start", "end", "place"],
      $defs: { Place: { type: "object", title: "Place", properties: { city: { type: "string" } } } },
    },
    { stops: [{}] },
  );
  expect(words(form.box, "legend")).toEqual([
    "start* (required) Place",
    "end* (required) Place",
    // Its class says no more than its name.
    "place* (required)",
    "stops Halts",
    "Place 1",
    "home Place",
  ]);
  expect(names(form.box)).toContain("Add another to stops");
  expect(names(form.box)).toContain("Add home");
});

it("titles that were made of names are not said; others stand beside the name", () => {
  const form = show(
    {
      type: "object",
      properties: {
        max_results: { type: "integer", title: "Max Results" },
        a: { type: "integer", title: "A" },
        zip: { type: "string", title: "Postal code" },
        pet: { title: "Animal", anyOf: [{ type: "integer" }, { type: "string" }] },
      },
    },
    { pet: 1 },
  );
  expect(words(form.box, "label.form-name")).toEqual(["max_results", "a", "zip Postal code"]);
  expect(words(form.box, "legend")).toEqual(["pet Animal"]);
  expect(form.at(".pet-kind").getAttribute("aria-label")).toBe("Kind of pet");
});
