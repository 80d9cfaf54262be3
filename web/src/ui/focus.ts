/** Controls that can have the focus. */
export const CONTROLS =
  "input:not(:disabled), textarea:not(:disabled), select:not(:disabled), button:not(:disabled)";

/** Puts the focus somewhere once it is on the page. */
export function focusSoon(find: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() => find()?.focus());
}

/** Puts the focus on the first thing in a form that is wrong, once that is on the page. */
export function focusFirstProblem(form: Element | null): void {
  requestAnimationFrame(() => {
    const wrong = form?.querySelector<HTMLElement>("[aria-invalid='true'], [data-problem]");
    if (wrong) focusProblem(wrong);
  });
}

/** A control takes the focus itself; a group that is wrong gives it to the button that could put it right. */
export function focusProblem(wrong: HTMLElement): void {
  const remedy = [...wrong.querySelectorAll<HTMLElement>("[data-remedy]:not(:disabled)")].find(
    (one) => one.parentElement?.closest("[data-group]") === wrong,
  );
  const target = remedy ?? wrong;
  target.focus();
  // What is said about a group stands above its button.
  wrong.scrollIntoView?.({ block: "nearest" });
}
