/** The first of many, and more of them when asked: a result may have tens of thousands of rows. */

import { useState } from "react";

export function useMore<T>(
  items: readonly T[],
  step: number,
): { shown: readonly T[]; left: number; more(): void } {
  const [most, setMost] = useState(step);
  return {
    shown: items.length > most ? items.slice(0, most) : items,
    left: Math.max(0, items.length - most),
    more: () => setMost((before) => before + Math.max(step, 100)),
  };
}

export function MoreButton({ left, more, what }: { left: number; more(): void; what: string }) {
  if (left === 0) return null;
  return (
    <button type="button" className="button small" onClick={more}>
      Show more {what} ({left.toLocaleString()} left)
    </button>
  );
}
