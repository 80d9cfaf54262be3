/** Shows forms in a pretended browser, and uses them as people do. */

import { act, type ReactNode, useState } from "react";
import { createRoot, type Root } from "react-dom/client";
import type { Json, JsonObject } from "../../src/api/client";
import { SchemaForm } from "../../src/form/SchemaForm";
import { ValueEditor } from "../../src/form/ValueEditor";
import type { FieldProblem } from "../../src/form/validate";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

export interface Shown {
  box: HTMLElement;
  /** The value now. */
  value(): Json | undefined;
  /** Every value that the form gave, in order. */
  changes: (Json | undefined)[];
  /** What was said about raw text, in order. */
  raw: (string | null)[];
  /** Changes the value from outside. */
  give(value: Json | undefined): void;
  /** The control with this id behind the prefix. */
  at<E extends HTMLElement = HTMLInputElement>(id: string): E;
  has(id: string): boolean;
  type(id: string, text: string): void;
  choose(id: string, option: string): void;
  click(name: string, nth?: number): void;
  chosen(id: string): string | null | undefined;
  press(id: string, key: string, more?: KeyboardEventInit): void;
  paste(id: string, text: string): void;
  tick(id: string): void;
  /** Takes the focus away from a control. */
  leave(id: string): void;
}

const open: { root: Root; box: HTMLElement }[] = [];

/** Takes all forms away, and keeps what the browser keeps. */
export function leave(): void {
  for (const { root, box } of open.splice(0)) {
    act(() => root.unmount());
    box.remove();
  }
}

export function closeAll(): void {
  leave();
  localStorage.clear();
}

interface Options {
  problems?: FieldProblem[];
  disabled?: boolean;
  editor?: boolean;
  /** What the room around puts in the place of nothing. */
  instead?: Json;
}

interface State {
  changes: (Json | undefined)[];
  raw: (string | null)[];
  current: Json | undefined;
  give(value: Json | undefined): void;
}

const NONE: FieldProblem[] = [];

/** The room around a form, which keeps the value. */
function Host(props: {
  schema: JsonObject;
  start: Json | undefined;
  options: Options;
  state: State;
}): ReactNode {
  const { schema, start, options, state } = props;
  const [value, setValue] = useState(start);
  state.give = (given) => {
    const next = given === undefined ? options.instead : given;
    state.current = next;
    setValue(next);
  };
  const shared = {
    schema,
    value,
    id: "f",
    problems: options.problems ?? NONE,
    disabled: options.disabled ?? false,
    onChange: (next: Json | undefined) => {
      state.changes.push(next);
      state.give(next);
    },
    onRawProblem: (problem: string | null) => void state.raw.push(problem),
  };
  return options.editor ? <ValueEditor {...shared} label="Arguments" /> : <SchemaForm {...shared} />;
}

export function show(schema: JsonObject, start: Json | undefined, options: Options = {}): Shown {
  const state: State = { changes: [], raw: [], current: start, give: () => {} };
  const { changes, raw } = state;
  const box = document.createElement("div");
  document.body.append(box);
  const root = createRoot(box);
  open.push({ root, box });
  act(() => root.render(<Host schema={schema} start={start} options={options} state={state} />));
  const find = <E extends HTMLElement>(id: string) => document.getElementById(`f${id}`) as E | null;
  const shown: Shown = {
    box,
    value: () => state.current,
    changes,
    raw,
    give: (value) => act(() => state.give(value)),
    at: <E extends HTMLElement>(id: string) => {
      const element = find<E>(id);
      if (!element) throw new Error(`There is no f${id}: ${box.innerHTML}`);
      return element;
    },
    has: (id) => find(id) !== null,
    type: (id, text) => enter(shown.at(id), text),
    choose: (id, option) => {
      const select = shown.at<HTMLSelectElement>(id);
      const found = [...select.options].find((one) => one.textContent === option);
      if (!found)
        throw new Error(`No ${option} in ${[...select.options].map((one) => one.textContent).join(", ")}`);
      act(() => {
        select.value = found.value;
        select.dispatchEvent(new Event("change", { bubbles: true }));
      });
    },
    click: (name, nth = 0) => {
      const buttons = [...box.querySelectorAll("button")].filter(
        (button) => (button.getAttribute("aria-label") ?? button.textContent) === name,
      );
      const button = buttons[nth];
      if (!button) throw new Error(`There is no button “${name}”: ${names(box).join(" | ")}`);
      act(() => button.click());
    },
    chosen: (id) => {
      const select = shown.at<HTMLSelectElement>(id);
      return [...select.options].find((one) => one.value === select.value)?.textContent;
    },
    press: (id, key, more) =>
      act(
        () => void shown.at(id).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, ...more })),
      ),
    paste: (id, text) => {
      const event = new Event("paste", { bubbles: true, cancelable: true });
      Object.assign(event, { clipboardData: { getData: () => text } });
      act(() => void shown.at(id).dispatchEvent(event));
    },
    tick: (id) => act(() => shown.at(id).click()),
    leave: (id) => act(() => void shown.at(id).dispatchEvent(new FocusEvent("focusout", { bubbles: true }))),
  };
  return shown;
}

export const names = (box: HTMLElement): string[] =>
  [...box.querySelectorAll("button")].map(
    (button) => button.getAttribute("aria-label") ?? button.textContent ?? "",
  );

/** Puts text into a control as a browser does, so that React notices. */
export function enter(control: HTMLInputElement | HTMLTextAreaElement, text: string): void {
  const prototype =
    control instanceof HTMLTextAreaElement ? HTMLTextAreaElement.prototype : HTMLInputElement.prototype;
  const set = Object.getOwnPropertyDescriptor(prototype, "value")?.set;
  act(() => {
    set?.call(control, text);
    control.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
