import { act } from "react";
import { createRoot } from "react-dom/client";
import { expect, test } from "vitest";
import { LongText } from "../../src/ui/LongText";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

test.each([
  [10_480, ["… show the last 8,480 characters"]],
  [2_001, ["… show the last character"]],
  [
    110_000,
    [
      "… show 50,000 of 108,000 more characters",
      "… show 50,000 of 58,000 more characters",
      "… show the last 8,000 characters",
    ],
  ],
  [2_000, []],
])("a text of %i characters says how many come next, until all are there", (length, said) => {
  const box = document.createElement("div");
  const root = createRoot(box);
  act(() => root.render(<LongText text={"x".repeat(length)} />));
  for (const words of said) {
    const button = box.querySelector("button");
    expect(button?.textContent).toBe(words);
    act(() => button?.click());
  }
  expect(box.querySelector("button")).toBeNull();
  expect(box.textContent).toHaveLength(length);
  act(() => root.unmount());
});
