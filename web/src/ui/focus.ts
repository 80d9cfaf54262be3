/** Controls that can have the focus. */
export const CONTROLS =
  "input:not(:disabled), textarea:not(:disabled), select:not(:disabled), button:not(:disabled)";

/** The first control of a form that somebody fills in: not one that says how the form is shown. */
export function firstField(form: Element | null): HTMLElement | undefined {
  const controls = [...(form?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])];
  return controls.find((control) => !control.closest(".form-head, .segments, .tool-picker, .prepared"));
}

let wishes = 0;

/**
 * Puts the focus somewhere once what was just done is on the page, and before anybody can do anything else: a frame may
 * come late, or never where nobody looks. Whoever has gone to another control meanwhile stays there. The last wish counts.
 */
export function focusSoon(find: () => HTMLElement | null | undefined): void {
  const before = document.activeElement;
  wishes += 1;
  const wish = wishes;
  // React puts on the page what an event changed in a microtask of its own, which was asked for before this one.
  queueMicrotask(() => {
    if (wish !== wishes) return;
    const now = document.activeElement;
    if (now === before || isAtRest() || now?.matches(PLACES)) find()?.focus();
  });
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

/** Whether nobody is at a control: the focus is nowhere, or at a heading that it was left at. */
export const isAtRest = (): boolean => document.activeElement?.matches("body, main, h1, h2") ?? true;

/** Where the focus may go when what had it is gone. */
const PLACES = "section, aside, dialog, main";

/**
 * Whoever used a control that then goes away, or cannot be used any more, stays where it was: in the nearest part of
 * the room that is still there. Without this the focus falls to the page as a whole, and a keyboard begins at its top.
 */
export function keepFocus(room: HTMLElement): () => void {
  let last: HTMLElement | null = null;
  let around: HTMLElement[] = [];
  let frame = 0;
  const remember = ({ target }: FocusEvent) => {
    if (!(target instanceof HTMLElement)) return;
    last = target;
    around = [];
    for (let at = target.closest<HTMLElement>(PLACES); at; at = at.parentElement?.closest(PLACES) ?? null)
      around.push(at);
  };
  const isLost = () =>
    last !== null &&
    document.activeElement === document.body &&
    (!last.isConnected || last.matches(":disabled"));
  const look = () => {
    if (!isLost()) return;
    cancelAnimationFrame(frame);
    // Whoever knows better where it should go has the first word.
    frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => {
        const place = isLost() ? around.find((one) => one.isConnected) : undefined;
        const heading = place?.querySelector<HTMLElement>("h1, h2") ?? place;
        if (!heading) return;
        heading.tabIndex = -1;
        heading.focus({ preventScroll: true });
      });
    });
  };
  const observer = new MutationObserver(look);
  observer.observe(room, { childList: true, subtree: true, attributeFilter: ["disabled"] });
  room.addEventListener("focusin", remember);
  return () => {
    cancelAnimationFrame(frame);
    observer.disconnect();
    room.removeEventListener("focusin", remember);
  };
}
