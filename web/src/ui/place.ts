/** Where things are on the page. */

import { type RefObject, useLayoutEffect, useState } from "react";

/** How far below the beginning of the page an element begins, also after what is above it has changed. */
export function useTopOf(element: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      const { top } = element.current?.getBoundingClientRect() ?? { top: 0 };
      setTop(Math.round(top + window.scrollY));
    };
    measure();
    // Whatever grows above it makes the page longer.
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return top;
}
