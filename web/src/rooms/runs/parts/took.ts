import { duration } from "../../../ui/time";

/** How long something took. Results count whole milliseconds, so none of them is a short time and not no time. */
export const took = (ms: number): string => (ms < 1 ? "under 1 ms" : duration(ms));
