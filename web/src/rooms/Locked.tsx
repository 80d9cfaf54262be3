import { useId } from "react";
import { useTitle } from "../ui/title";

/** The browser has no token any more, or that of another server: where to find it, and a place for it. */
export function Locked() {
  useTitle("Locked");
  const field = useId();
  // A form that asks for this very address with the token behind it: the server makes a cookie of that.
  return (
    <main className="start">
      <form className="card stack" method="get" action={window.location.pathname}>
        <h1>Rehearsal is locked</h1>
        <p>
          This browser has no token for the server, or that of another one. <code>rehearse serve</code> prints
          the address with the token when it starts for the first time; later it is in the file{" "}
          <code>.rehearsal/token</code> of the folder in which the server was started. What you typed is kept.
        </p>
        <div className="stack tight">
          <label htmlFor={field}>Token</label>
          <input id={field} name="token" className="mono" required autoComplete="off" spellCheck={false} />
        </div>
        <div className="buttons">
          <button type="submit" className="button primary">
            Unlock
          </button>
        </div>
      </form>
    </main>
  );
}
