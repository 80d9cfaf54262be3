import { type ReactNode, useEffect, useRef } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { useConnection, useOpenCues } from "./api/queries";
import { waitingCount } from "./api/waiting";
import { Home } from "./rooms/home/Home";
import { Locked } from "./rooms/Locked";
import { Runs } from "./rooms/runs/Runs";
import { SessionRoom } from "./rooms/session/SessionRoom";
import { Start } from "./rooms/start/Start";
import { Bell } from "./ui/Bell";
import { Boundary } from "./ui/Boundary";
import { Icon } from "./ui/Icon";
import { Nothing } from "./ui/Nothing";
import { useWaitingInTitle } from "./ui/title";

export function App() {
  // What a person typed is kept in the browser, and the room comes back when they are let in.
  if (useConnection() === "locked") return <Locked />;
  return (
    <div className="shell">
      <a className="skip button" href="#main">
        Skip to the content
      </a>
      <Masthead />
      <ConnectionBar />
      <Main>
        <Room>
          <Switch>
            <Route path="/">
              <Home />
            </Route>
            <Route path="/start">
              <Start />
            </Route>
            <Route path="/sessions/:id">{({ id }) => <SessionRoom key={id} id={id} />}</Route>
            <Route path="/runs/*?">
              <Runs />
            </Route>
            <Route>
              <Nothing>
                Nothing has this address. <Link href="/">Go to the beginning</Link>.
              </Nothing>
            </Route>
          </Switch>
        </Room>
      </Main>
    </div>
  );
}

function Room({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  return <Boundary of={path}>{children}</Boundary>;
}

function Masthead() {
  const [path] = useLocation();
  const waiting = waitingCount(useOpenCues().data?.cues ?? []);
  useWaitingInTitle(waiting);
  const room = (href: string, label: ReactNode, is: boolean) => (
    <li>
      <Link href={href} aria-current={is ? "page" : undefined}>
        {label}
      </Link>
    </li>
  );
  return (
    <header className="masthead">
      <Link href="/" className="brand">
        <img src="/icon.svg" alt="" />
        Rehearsal
      </Link>
      <nav aria-label="Rooms">
        <ul>
          {room(
            "/",
            waiting !== "" ? `Sessions (${waiting} waiting)` : "Sessions",
            path === "/" || path.startsWith("/sessions"),
          )}
          {room("/runs", "Runs", path.startsWith("/runs"))}
        </ul>
      </nav>
      <div className="end">
        <Bell />
        <Link href="/start" className="button primary small">
          <Icon name="play" />
          New session
        </Link>
      </div>
    </header>
  );
}

/** Moves the focus to the new room when the address changes, as a browser does for a new page. */
function Main({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const before = useRef(path);
  useEffect(() => {
    if (before.current === path) return;
    before.current = path;
    if (!main.current?.contains(document.activeElement)) main.current?.focus();
    window.scrollTo(0, 0);
  }, [path]);
  return (
    <main id="main" ref={main} tabIndex={-1}>
      {children}
    </main>
  );
}

function ConnectionBar() {
  const connection = useConnection();
  return (
    <div role="status">
      {connection === "lost" && (
        <div className="connection">
          <Icon name="error" />
          Connection lost. Trying again; what you typed is kept.
        </div>
      )}
    </div>
  );
}
