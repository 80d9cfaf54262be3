/** Moments and durations, as people say them. */

import { useEffect, useState } from "react";
import { serverNow } from "../api/clock";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "full" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export function duration(ms: number): string {
  if (ms < 1) return "under 1 ms";
  if (ms < 1000) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days`;
}

/** The day of a moment, as people write it. */
export const dayOf = (at: string): string => date.format(new Date(at));

/** The server's time that passes, read again every `every` milliseconds. Moments are told by its clock, not by ours. */
export function useNow(every: number): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

/** How long ago, counting on. */
export function Since({ at }: { at: string }) {
  const now = useNow(1000);
  const ms = Math.max(0, now - Date.parse(at));
  const words = ms < 60_000 ? `${Math.max(1, Math.floor(ms / 1000))} s` : duration(ms);
  return (
    <time dateTime={at} title={day.format(new Date(at))}>
      {words}
    </time>
  );
}

/** A stopwatch in tenths of a second. */
export function Stopwatch({ since }: { since: string }) {
  const now = useNow(100);
  const ms = Math.max(0, now - Date.parse(since));
  return (
    <span role="timer" aria-live="off" className="mono">
      {ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms)}
    </span>
  );
}

export function Clock({ at }: { at: string }) {
  const date = new Date(at);
  return (
    <time dateTime={at} title={date.toLocaleString()}>
      {clock.format(date)}
    </time>
  );
}

export function Day({ at }: { at: string }) {
  return <time dateTime={at}>{day.format(new Date(at))}</time>;
}
