import type { ReactNode } from "react";
import { inWords } from "../api/client";
import { Icon } from "./Icon";

type Tone = "error" | "good" | "warn" | "info";

const ICONS = { error: "error", good: "output", warn: "error", info: "info" } as const;

/** Something a person should know, read out when it appears. */
export function Notice({ tone = "info", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice ${tone}`} role={tone === "error" ? "alert" : "status"}>
      <Icon name={ICONS[tone]} />
      <div className="grow">{children}</div>
    </div>
  );
}

export function ProblemNotice({ error }: { error: unknown }) {
  return <Notice tone="error">{inWords(error)}</Notice>;
}
