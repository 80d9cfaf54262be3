import { afterEach, describe, expect, it } from "vitest";
import { focusSoon } from "../../src/ui/focus";

const frame = () => new Promise((resolve) => requestAnimationFrame(() => resolve(undefined)));
const button = (name: string) => {
  const made = document.createElement("button");
  made.id = name;
  document.body.append(made);
  return made;
};

afterEach(() => {
  document.body.replaceChildren();
});

describe("the focus", () => {
  it("goes where it was last asked to go, though an earlier wish still waits for its frame", async () => {
    const [picker, gone, next] = [button("picker"), button("gone"), button("next")];
    focusSoon(() => picker);
    gone.focus();
    focusSoon(() => next);
    gone.remove();
    await frame();
    expect(document.activeElement).toBe(next);
  });

  it("stays with whoever has gone to another control", async () => {
    const [wished, chosen] = [button("wished"), button("chosen")];
    focusSoon(() => wished);
    chosen.focus();
    await frame();
    expect(document.activeElement).toBe(chosen);
  });
});
