import { useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { Cue } from "../api/client";
import { live } from "../api/live";
import { useOpenCues } from "../api/queries";
import { WAITS_FOR } from "../api/waiting";
import { keepTells, mayNotify, notify, readTells, ring, type Tells } from "./bell";
import { Icon } from "./Icon";

/** Whether, and how, a person is told that something new waits. */
export function Bell() {
  const [tells, setTells] = useState(readTells);
  const [refused, setRefused] = useState(false);
  useNews(tells);
  const change = (next: Tells) => {
    keepTells(next);
    setTells(next);
  };
  const choose = async (on: boolean) => {
    const may = on && (await mayNotify());
    setRefused(on && !may);
    change({ ...tells, notification: may });
  };
  return (
    <details className="bell">
      <summary className="button small" aria-label="Tell me when something waits">
        <Icon name={tells.notification || tells.sound ? "bell" : "bellOff"} />
      </summary>
      <fieldset className="bell-choices card stack tight">
        <legend className="visually-hidden">When something new waits</legend>
        <p>
          <strong>When something new waits</strong>
        </p>
        <label className="row">
          <input
            type="checkbox"
            checked={tells.notification}
            onChange={(event) => void choose(event.target.checked)}
          />
          show a notification
        </label>
        {refused && (
          <p className="soft" role="status">
            This browser does not allow it. Its settings for this page can.
          </p>
        )}
        <label className="row">
          <input
            type="checkbox"
            checked={tells.sound}
            onChange={(event) => {
              change({ ...tells, sound: event.target.checked });
              if (event.target.checked) ring();
            }}
          />
          play a sound
        </label>
      </fieldset>
    </details>
  );
}

/** Tells of what began to wait since the page was opened; one tab speaks for all. */
function useNews(tells: Tells): void {
  const [, go] = useLocation();
  const cues = useOpenCues().data?.cues;
  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (!cues) return;
    const before = known.current;
    known.current = new Set(cues.map((cue) => cue.id));
    const news = before === null ? [] : cues.filter((cue) => isNews(cue, before));
    const [first] = news;
    if (!first || !live.leading()) return;
    if (tells.sound) ring();
    if (tells.notification && !document.hasFocus()) {
      const more = news.length > 1 ? `, and ${news.length - 1} more` : "";
      const body = `needs ${WAITS_FOR[first.kind] ?? first.kind}${more}`;
      notify(first.id, `${first.agent} waits for you`, body, () => go(`/sessions/${first.session}`));
    }
  }, [cues, tells, go]);
}

const isNews = (cue: Cue, known: ReadonlySet<string>): boolean => cue.status === "open" && !known.has(cue.id);
