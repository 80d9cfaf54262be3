import { act, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import type { JsonObject } from "../../src/api/client";
import type { ToolDeclaration } from "../../src/ledger/event";
import { CallComposer } from "../../src/rooms/session/CallComposer";
import type { ModelDraft } from "../../src/rooms/session/ModelDecision";
import { Sending, type SendingState } from "../../src/rooms/session/Sending";
import { closeAll, enter } from "./form-help";

let root: Root | undefined;
afterEach(() => {
  act(() => root?.unmount());
  document.body.replaceChildren();
  closeAll();
});

function mount(node: React.ReactNode): void {
  const box = document.createElement("div");
  document.body.append(box);
  root = createRoot(box);
  act(() => root?.render(node));
}

const IDLE: SendingState = { isPending: false, error: null, failureReason: null };
const EMPTY: ModelDraft = {
  mode: "call",
  tool: null,
  args: {},
  prepared: [],
  place: null,
  aside: "",
  text: "",
};

function Composer(props: {
  tools: ToolDeclaration[];
  sent: JsonObject[];
  sending?: SendingState;
  draft?: Partial<ModelDraft>;
}) {
  const [draft, setDraft] = useState({ ...EMPTY, ...props.draft });
  return (
    <CallComposer
      cue="c"
      tools={props.tools}
      draft={draft}
      onChange={(part) => setDraft({ ...draft, ...part })}
      onSend={(answer) => props.sent.push(answer)}
      sending={props.sending ?? IDLE}
    />
  );
}

const submit = () => act(() => document.querySelector("form")?.requestSubmit());

test.each([[undefined], [{}], [{ type: "object" }], [{ type: "OBJECT", description: "None" }]])(
  "a tool that declares %j has nothing to fill in",
  (parameters) => {
    const sent: JsonObject[] = [];
    const tool = { name: "now", parameters } as unknown as ToolDeclaration;
    mount(<Composer tools={[tool]} sent={sent} />);
    expect(document.body.textContent).toContain("There is nothing to fill in.");
    expect(document.body.textContent).not.toContain("Add field");
    submit();
    expect(sent).toEqual([{ calls: [{ tool: "now", args: {} }] }]);
  },
);

test("what is being sent is not sent again, and its button keeps the focus", () => {
  const sent: JsonObject[] = [];
  const tool = { name: "now" } as unknown as ToolDeclaration;
  mount(<Composer tools={[tool]} sent={sent} sending={{ ...IDLE, isPending: true }} />);
  const button = document.querySelector<HTMLButtonElement>("[type=submit]");
  expect(button?.getAttribute("aria-disabled")).toBe("true");
  expect(button?.disabled).toBe(false);
  submit();
  expect(sent).toEqual([]);
});

test("a call in the line that is not right is opened at its place, and says what is wrong", async () => {
  const sent: JsonObject[] = [];
  const tool = {
    name: "add",
    parameters: { type: "object", properties: { a: { type: "integer" } }, required: ["a"] },
  } as unknown as ToolDeclaration;
  const prepared: ModelDraft["prepared"] = [
    { tool: "add", args: {} },
    { tool: "add", args: { a: 2 } },
  ];
  mount(<Composer tools={[tool]} sent={sent} draft={{ prepared }} />);
  submit();
  await new Promise((resolve) => requestAnimationFrame(() => resolve(null)));
  expect(sent).toEqual([]);
  expect(document.querySelector("[role=alert]")?.textContent).toBe("1 field needs attention: a");
  const field = document.activeElement as HTMLInputElement;
  expect(field.id).toBe("call-c-add.a");
  enter(field, "1");
  submit();
  const calls = [1, 2].map((a) => ({ tool: "add", args: { a } }));
  expect(sent).toEqual([{ calls }]);
});

test("a refusal has the focus, and only when it comes", () => {
  const refused: SendingState = { isPending: false, error: new Error("no"), failureReason: null };
  mount(<Sending state={refused} />);
  expect(document.activeElement).toBe(document.body);
  act(() => root?.render(<Sending state={{ ...IDLE, isPending: true }} />));
  act(() => root?.render(<Sending state={refused} />));
  expect(document.activeElement?.textContent).toContain("no");
});
