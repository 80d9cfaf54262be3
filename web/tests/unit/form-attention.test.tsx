/** What happens when a form is sent that is not right: it is said by the button, and the focus is where it can be put right. */

import { act } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/api/client";
import { useChecked } from "../../src/form/checked";
import { ValueEditor } from "../../src/form/ValueEditor";
import { closeAll } from "./form-help";

let root: Root | undefined;
afterEach(() => {
  act(() => root?.unmount());
  closeAll();
  document.body.replaceChildren();
});

function Sends({ schema, value }: { schema: JsonObject; value: Json }) {
  const checked = useChecked(schema);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        checked.passes(value, event.currentTarget);
      }}
    >
      <ValueEditor
        id="f"
        label="Arguments"
        schema={schema}
        value={value}
        onChange={() => {}}
        problems={checked.problems}
        onRawProblem={checked.onRawProblem}
      />
    </form>
  );
}

async function send(properties: JsonObject, value: Json, more: JsonObject = {}): Promise<void> {
  const box = document.createElement("div");
  document.body.append(box);
  root = createRoot(box);
  const schema = { type: "object", properties, required: Object.keys(properties), ...more };
  act(() => root?.render(<Sends schema={schema} value={value} />));
  act(() => document.querySelector("form")?.requestSubmit());
  await new Promise((resolve) => requestAnimationFrame(() => resolve(null)));
}

const focused = () => document.activeElement as HTMLElement;
const alert = () => document.querySelector("[role=alert]")?.textContent;

test("a list that is missing: the focus is on the button that adds to it", async () => {
  await send({ words: { type: "array", items: { type: "string" } } }, {});
  expect(focused().textContent).toBe("Add an item to words");
  expect(alert()).toBe("1 field needs attention: words");
  expect(document.getElementById("f.words-group")?.getAttribute("aria-describedby")).toBe("f.words-problem");
});

test("an object that is missing: the focus is on its group", async () => {
  const inner = { type: "object", properties: { a: { type: "string" } } };
  await send({ o: inner }, {});
  expect(focused().id).toBe("f.o-group");
  expect(alert()).toBe("1 field needs attention: o");
});

test("a list that is full, an item of it that is wrong, and a value that does not fit", async () => {
  await send({ l: { type: "array", items: { type: "integer" }, maxItems: 1 } }, { l: [1, 2] });
  expect(focused().id).toBe("f.l-group");
  act(() => root?.unmount());
  await send({ l: { type: "array", items: { type: "integer" }, minItems: 3 } }, { l: [1, null] });
  expect(focused().textContent).toBe("Add another to l");
  expect(alert()).toBe("2 fields need attention: l, l › item 2");
  act(() => root?.unmount());
  await send({ s: { type: "string" } }, { s: 5 });
  expect(focused().id).toBe("f.s-group");
});

test("something wrong with what is not drawn", async () => {
  await send({}, {}, { required: ["zz"] });
  expect(focused().textContent).toBe("zz is required");
  expect(alert()).toBe("1 field needs attention: zz");
});

test("the line leads to each of the fields", async () => {
  await send(
    {
      text: { type: "string" },
      pet: { anyOf: [{ type: "integer" }, { type: "string" }] },
      list: { type: "array", items: { type: "string" } },
      last: { type: "integer" },
    },
    {},
  );
  expect(focused().id).toBe("f.text");
  expect(alert()).toBe("4 fields need attention: text, pet, list, last");
  const links = [...document.querySelectorAll<HTMLElement>("[role=alert] button")];
  act(() => links[1]?.click());
  expect(focused().id).toBe("f.pet-kind");
  act(() => links[2]?.click());
  expect(focused().textContent).toBe("Add an item to list");
  act(() => links[0]?.click());
  expect(focused().id).toBe("f.text");
});
