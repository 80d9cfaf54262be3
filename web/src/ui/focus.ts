/** Puts the focus on the first field of a form that is wrong, once that is on the page. */
export function focusFirstProblem(form: Element | null): void {
  requestAnimationFrame(() => form?.querySelector<HTMLElement>("[aria-invalid='true']")?.focus());
}
