import { useEffect, useId, useState } from "react";
import { useSearchParams } from "wouter";
import { useSessions } from "../../api/queries";
import { ProblemNotice } from "../../ui/Notice";
import { SessionLine } from "./SessionLine";

/** How long to wait for another letter before searching. */
const PAUSE_MS = 200;

/** What can be shown, as the address names it; the first unless it names another. */
const KINDS: { [status: string]: string } = {
  "": "Past",
  any: "All",
  active: "Active",
  completed: "Completed",
  cancelled: "Cancelled",
};

/** Sessions that have ended, or others, with search and filter. What is sought stands in the address. */
export function PastSessions() {
  const [params, setParams] = useSearchParams();
  const sought = params.get("q") ?? "";
  const [text, setText] = useState(sought);
  // A link or the way back may change what is sought; then the box says that.
  const [followed, setFollowed] = useState(sought);
  if (followed !== sought) {
    setFollowed(sought);
    setText(sought);
  }
  const status = params.get("status") ?? "";
  const pages = (params.get("page") ?? "").split(",").filter((page) => page !== "");
  const [search, filter] = [useId(), useId()];
  const set = (changes: { [name: string]: string }) =>
    setParams(
      (before) => {
        for (const [name, value] of Object.entries(changes)) {
          if (value === "") before.delete(name);
          else before.set(name, value);
        }
        return before;
      },
      { replace: true },
    );
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts a search
  useEffect(() => {
    if (text === sought) return;
    const timer = setTimeout(() => set({ q: text, page: "" }), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const found = useSessions({
    status: status === "" ? "ended" : status === "any" ? "" : status,
    q: sought,
    ...(pages.length > 0 ? { pageToken: pages.at(-1) ?? "" } : {}),
  });
  const sessions = found.data?.sessions ?? [];
  const next = found.data?.next_page_token;
  return (
    <section className="card" aria-labelledby="past-heading">
      <header>
        <h2 id="past-heading">{KINDS[status] ?? status} sessions</h2>
        <search className="row">
          <label htmlFor={search} className="visually-hidden">
            Search sessions
          </label>
          <input
            id={search}
            type="search"
            className="short"
            placeholder="Search"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <label htmlFor={filter} className="visually-hidden">
            Status
          </label>
          <select
            id={filter}
            className="short"
            value={status}
            onChange={(event) => set({ status: event.target.value, page: "" })}
          >
            {Object.entries(KINDS).map(([value, word]) => (
              <option key={value} value={value}>
                {word.toLowerCase()}
              </option>
            ))}
          </select>
        </search>
      </header>
      {found.error && <ProblemNotice error={found.error} />}
      <ul className="list">
        {sessions.map((session) => (
          <SessionLine key={session.id} session={session} />
        ))}
      </ul>
      {found.data && sessions.length === 0 && <p className="soft">{emptyWords(sought, status)}</p>}
      {(pages.length > 0 || next) && (
        <nav className="buttons" aria-label="Pages of sessions">
          <button
            type="button"
            className="button small"
            disabled={pages.length === 0}
            onClick={() => set({ page: pages.slice(0, -1).join(",") })}
          >
            Newer
          </button>
          <button
            type="button"
            className="button small"
            disabled={!next}
            onClick={() => next && set({ page: [...pages, next].join(",") })}
          >
            Older
          </button>
        </nav>
      )}
    </section>
  );
}

/** Why the list is empty: nothing was found only where something was sought. */
function emptyWords(sought: string, status: string): string {
  if (sought !== "") return "No session is like that.";
  if (status === "") return "No session has ended yet.";
  if (status === "any") return "There is no session yet.";
  return `No session is ${(KINDS[status] ?? status).toLowerCase()}.`;
}
