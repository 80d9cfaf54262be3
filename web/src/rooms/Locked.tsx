import { useId, useState } from "react";
import { useTitle } from "../ui/title";

/** The browser has no token any more, or that of another server: where to find it, and a place for it. */
export function Locked() {
  useTitle("Locked");
  const field = useId();
  const [token, setToken] = useState("");
  return (
    <main className="start">
      <form
        className="card stack"
        onSubmit={(event) => {
          event.preventDefault();
          // This very address with the token behind it: the server makes a cookie of that.
          const address = new URL(window.location.href);
          address.searchParams.set("token", token.trim());
          window.location.assign(address);
        }}
      >
        <h1>Rehearsal is locked</h1>
        <p>
          This browser has no token for the server, or that of another one. <code>rehearse serve</code> prints
          the address with the token when it starts for the first time; later it is in the file{" "}
          <code>.rehearsal/token</code> of the folder in which the server was started. What you typed is kept.
        </p>
        <div className="stack tight">
          <label htmlFor={field}>Token</label>
          <input
            id={field}
            className="mono"
            required
            autoComplete="off"
            spellCheck={false}
            value={token}
            onChange={(event) => setToken(event.target.value)}
          />
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
