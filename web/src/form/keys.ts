import type { KeyboardEvent } from "react";

/** Ctrl+Enter, or Cmd+Enter, sends a form from wherever the focus is in it. */
export function sendsByKey(event: KeyboardEvent<HTMLElement>): void {
  if (event.defaultPrevented || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  // Whoever hears of the key next knows that it was for this.
  event.preventDefault();
  event.currentTarget.closest("form")?.requestSubmit();
}

/** Enter in a line of text sends the form. On a box it would too, where nobody expects it. */
export function editorKeys(event: KeyboardEvent<HTMLElement>): void {
  const { target } = event;
  if (event.key === "Enter" && target instanceof HTMLInputElement && target.type === "checkbox") {
    if (!event.ctrlKey && !event.metaKey) event.preventDefault();
  }
  sendsByKey(event);
}
