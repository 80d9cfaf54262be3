/** A run while it goes on: how far it is, what it uses, and holding, letting go on and stopping it. */

import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import { inWords, type Progress, post, type Run } from "../../../api/client";
import { Command } from "../../../ui/Copy";
import { Icon } from "../../../ui/Icon";
import { Notice } from "../../../ui/Notice";
import { duration, Since, useNow } from "../../../ui/time";
import { passRate, percent, type Summary, wilson } from "../data/summary";
import { Bar, Counts } from "../parts/Counts";
import { Facts } from "../parts/Facts";
import { cost } from "./CaseTable";

export function Underway({ run }: { run: Run }) {
  const { progress } = run;
  return (
    <section className="card stack tight underway" aria-labelledby="underway">
      <div className="row apart">
        <h2 id="underway">{heading(run)}</h2>
        {!run.gone && <Reins run={run} />}
      </div>
      <p role="status" className={standing(run) === "" ? "visually-hidden" : "soft"}>
        {standing(run)}
      </p>
      {progress ? (
        <Far run={run} progress={progress} />
      ) : (
        !run.gone && <p className="soft">Nothing is known yet.</p>
      )}
      {run.gone && <Gone run={run} />}
    </section>
  );
}

function heading(run: Run): string {
  if (run.gone) return "Its process is gone";
  if (run.wish === "stop") return "Stopping";
  return run.progress?.held ? "Held" : "Under way";
}

/** What it does, or is about to do, because somebody wants it. */
function standing({ wish, gone, progress }: Run): string {
  if (gone) return "";
  const running = progress?.running ?? 0;
  const rest =
    running === 0 ? "" : ` ${running === 1 ? "One case runs" : `${running} cases run`} to the end.`;
  if (wish === "stop") return "Cases that run are being ended. What has ended stays.";
  if (wish === "hold") return progress?.held ? `No further case starts.${rest}` : "It is about to be held …";
  return progress?.held ? "It is about to go on …" : "";
}

function Far({ run, progress }: { run: Run; progress: Progress }) {
  const { ended, planned, running } = progress;
  const rest = Math.max(0, planned - ended.total);
  return (
    <>
      <div
        role="progressbar"
        className="far"
        aria-label="Cases that have ended"
        aria-valuemin={0}
        aria-valuemax={planned}
        aria-valuenow={ended.total}
        aria-valuetext={`${ended.total} of ${planned}`}
      >
        <Bar summary={{ ...ended, not_run: rest }} />
      </div>
      <p className="run-counts">
        <strong className="figures">
          {ended.total.toLocaleString()} of {planned.toLocaleString()} ended
        </strong>
        {ended.total > 0 && <Counts summary={ended} bar={false} />}
        {!run.gone && <span className="soft">{running.toLocaleString()} running</span>}
      </p>
      <Facts
        facts={[
          ["Passed", rate(ended)],
          ["Not the agent's doing", ended.invalid ? ended.invalid.toLocaleString() : null],
          ["Tokens", progress.spent.tokens > 0 ? progress.spent.tokens.toLocaleString() : null],
          ["Cost", progress.spent.cost != null && progress.spent.cost > 0 ? cost(progress.spent.cost) : null],
          ["Running for", run.gone ? null : <Since key="for" at={run.started_at} />],
          ["Left", run.gone ? null : left(progress)],
        ]}
      />
      {!run.gone && progress.calls && progress.calls.length > 0 && <Calls calls={progress.calls} />}
    </>
  );
}

/** The share that passed, with how sure that is. Cases that say nothing about the agent are left out. */
function rate(ended: Summary): ReactNode {
  const share = passRate(ended);
  if (share === null) return null;
  const [low, high] = wilson(ended.passed, ended.total - ended.not_run - (ended.invalid ?? 0));
  return (
    <>
      {percent(share)}{" "}
      <span className="soft">
        (95 % interval {percent(low)} to {percent(high)})
      </span>
    </>
  );
}

/** How long the rest takes, roughly: nobody knows seconds of an hour. */
function left({ left_ms: ms, held }: Progress): string | null {
  if (held || ms == null) return null;
  if (ms < 1000) return "a moment";
  const steps: [number, number][] = [
    [60_000, 1000],
    [600_000, 15_000],
    [3_600_000, 60_000],
  ];
  const step = steps.find(([below]) => ms < below)?.[1] ?? 600_000;
  const rounded = Math.max(step, Math.round(ms / step) * step);
  return `about ${rounded < 60_000 ? `${rounded / 1000} s` : duration(rounded)}`;
}

/** How many calls to each model are under way, and how many may be. */
function Calls({ calls }: { calls: NonNullable<Progress["calls"]> }) {
  return (
    <table className="calls">
      <caption className="visually-hidden">Calls to models</caption>
      <thead>
        <tr>
          <th scope="col">Model</th>
          <th scope="col">Calls now</th>
          <th scope="col">At most</th>
          <th scope="col">Sent</th>
          <th scope="col">Refused</th>
        </tr>
      </thead>
      <tbody>
        {calls.map((one) => (
          <tr key={one.model}>
            <th scope="row">{one.model}</th>
            <td>{(one as { now?: number }).now?.toLocaleString() ?? "–"}</td>
            <td>{one.limit.toLocaleString()}</td>
            <td>{one.sent.toLocaleString()}</td>
            <td>{one.refused.toLocaleString()}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

type Wish = "hold" | "go-on" | "stop";

function Reins({ run }: { run: Run }) {
  const client = useQueryClient();
  const [sends, setSends] = useState(false);
  const [asks, setAsks] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const stop = useRef<HTMLButtonElement>(null);
  const want = async (wish: Wish) => {
    setSends(true);
    setProblem(null);
    try {
      await post(`/v1/runs/${encodeURIComponent(run.id)}/${wish}`);
    } catch (error) {
      setProblem(inWords(error));
    }
    setAsks(false);
    await client.invalidateQueries({ queryKey: ["runs", "head", run.id] });
    setSends(false);
  };
  if (run.wish === "stop") return problem === null ? null : <Notice tone="error">{problem}</Notice>;
  const held = run.wish === "hold";
  return (
    <div className="stack tight">
      <div className="buttons">
        {!asks && (
          <button
            type="button"
            className="button small"
            disabled={sends}
            onClick={() => void want(held ? "go-on" : "hold")}
          >
            <Icon name={held ? "play" : "pause"} />
            {held ? "Go on" : "Hold"}
          </button>
        )}
        {!asks && (
          <button
            ref={stop}
            type="button"
            className="button small"
            disabled={sends}
            onClick={() => setAsks(true)}
          >
            <Icon name="stop" />
            Stop
          </button>
        )}
        {asks && (
          <Sure
            sends={sends}
            onYes={() => void want("stop")}
            onNo={() => {
              setAsks(false);
              requestAnimationFrame(() => stop.current?.focus());
            }}
          />
        )}
      </div>
      {problem !== null && <Notice tone="error">{problem}</Notice>}
    </div>
  );
}

function Sure({ sends, onYes, onNo }: { sends: boolean; onYes(): void; onNo(): void }) {
  return (
    <fieldset
      className="row sure"
      onKeyDown={(event) => {
        if (event.key === "Escape") onNo();
      }}
    >
      <legend className="visually-hidden">Stop this run?</legend>
      <span>Cases that run are ended.</span>
      <button
        // biome-ignore lint/a11y/noAutofocus: whoever pressed Stop is asked here
        autoFocus
        type="button"
        className="button small danger"
        disabled={sends}
        onClick={onYes}
      >
        <Icon name="stop" />
        Stop this run
      </button>
      <button type="button" className="button small" onClick={onNo}>
        Let it run
      </button>
    </fieldset>
  );
}

/** A run that should be running, and whose process is no longer there. */
function Gone({ run }: { run: Run }) {
  const now = useNow(10_000);
  const at = run.progress?.at;
  const silent = at === undefined ? null : duration(Math.max(0, now - Date.parse(at)));
  return (
    <Notice tone="warn">
      <p>
        Its process was not seen for a while{silent === null ? "" : `: what is shown is ${silent} old`}. It
        was ended from outside, or cannot reach the store.
      </p>
      <Onwards run={run} />
    </Notice>
  );
}

/** How to go on with a run that came to no end. A server starts no programs. */
export function Onwards({ run }: { run: Run }) {
  if (!run.again) return null;
  return (
    <div className="stack tight">
      <p>This command goes on with it. Cases that have ended are not run again:</p>
      <Command text={run.again} />
    </div>
  );
}
