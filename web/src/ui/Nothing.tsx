import type { ReactNode } from "react";
import { useTitle } from "./title";

/** An address that leads nowhere, and where to go instead. */
export function Nothing({ children }: { children: ReactNode }) {
  useTitle("Nothing here");
  return (
    <>
      <h1>There is nothing here</h1>
      <p>{children}</p>
    </>
  );
}
