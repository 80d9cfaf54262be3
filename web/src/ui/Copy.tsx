import { useEffect, useState } from "react";
import { Icon } from "./Icon";

const SHOWN_MS = 1500;

interface CopyProps {
  text: () => string | Promise<string>;
  /** What is copied, for those who do not see beside what the button stands. */
  of?: string;
}

/** Copies a text, and says that it did. */
export function Copy({ text, of }: CopyProps) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(await text());
      setSaid("Copied");
    } catch {
      setSaid("Select it and copy by hand");
    }
  };
  return (
    <button type="button" className="button small" onClick={() => void copy()}>
      <Icon name="copy" />
      <span aria-live="polite">
        {said ?? "Copy"}
        {said === null && of !== undefined && <span className="visually-hidden"> {of}</span>}
      </span>
    </button>
  );
}

/** A command with a button that copies it. */
export function Command({ text }: { text: string }) {
  return (
    <div className="code">
      <pre>{text}</pre>
      <Copy text={() => text} />
    </div>
  );
}
