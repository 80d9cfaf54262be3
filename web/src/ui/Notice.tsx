import type { ReactNode } from "react";
import { inWords } from "../api/client";
import { Icon } from "./Icon";

type Tone = "error" | "good" | "warn" | "info";

const ICONS = { error: "error", good: "output", warn: "error", info: "info" } as const;

interface NoticeProps {
  tone?: Tone;
  /** Not read out by itself: something in it changes all the time. */
  quiet?: boolean;
  children: ReactNode;
}

/** Something a person should know, read out when it appears. */
export function Notice({ tone = "info", quiet = false, children }: NoticeProps) {
  return (
    <div className={`notice ${tone}`} role={quiet ? undefined : tone === "error" ? "alert" : "status"}>
      <Icon name={ICONS[tone]} />
      <div className="grow">{children}</div>
    </div>
  );
}

export function ProblemNotice({ error }: { error: unknown }) {
  return <Notice tone="error">{inWords(error)}</Notice>;
}
