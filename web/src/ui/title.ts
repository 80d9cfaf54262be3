import { useEffect } from "react";

/** Says in the browser's tab which room this is. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Rehearsal`;
  }, [title]);
}
