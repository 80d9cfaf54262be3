import { afterEach, describe, expect, it } from "vitest";
import { focusSoon } from "../../src/ui/focus";

/** Until what waits for the end of what is done now is done: no frame is waited for. */
const done = () => Promise.resolve();
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
  it("goes where it was last asked to go, though an earlier wish still waits", async () => {
    const [picker, gone, next] = [button("picker"), button("gone"), button("next")];
    focusSoon(() => picker);
    gone.focus();
    focusSoon(() => next);
    gone.remove();
    await done();
    expect(document.activeElement).toBe(next);
  });

  it("stays with whoever has gone to another control", async () => {
    const [wished, chosen] = [button("wished"), button("chosen")];
    focusSoon(() => wished);
    chosen.focus();
    await done();
    expect(document.activeElement).toBe(chosen);
  });
});
