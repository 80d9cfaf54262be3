/** The server's clock, as far as its answers tell. */

/** Answers name the second, and take a while to arrive: less than this is no difference. */
const SAME_MS = 2_500;

let offset = 0;

/** Hears what time it is at the server. */
export function hearTime(header: string | null): void {
  const told = Date.parse(header ?? "");
  if (Number.isNaN(told)) return;
  // The middle of the second that it names.
  const difference = told + 500 - Date.now();
  offset = Math.abs(difference) < SAME_MS ? 0 : difference;
}

export const serverNow = (): number => Date.now() + offset;
