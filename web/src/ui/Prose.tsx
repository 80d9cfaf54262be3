import { useMemo, useState } from "react";
import type { Json } from "../api/client";
import { readJsonText } from "../json/exact";
import { pretty } from "../json/show";
import { Tree } from "../json/Tree";
import { Copy } from "./Copy";
import { LongText } from "./LongText";
import { Markdown } from "./Markdown";

type View = "Text" | "Markdown" | "JSON";

interface ProseProps {
  text: string;
  /** What the text is: "the final response". */
  label: string;
  /** Whether whoever wrote it writes Markdown. Others mean their stars and underscores as they stand. */
  markdown?: boolean;
  /** Reads it whole, where the server has cut it. */
  whole?: (() => Promise<Json>) | undefined;
}

/**
 * What somebody said: to the letter, laid out as Markdown, or as the tree of the JSON that it is. Where these differ,
 * whoever reads it chooses; what is copied is always the text itself.
 */
export function Prose({ text, label, markdown = false, whole }: ProseProps) {
  const value = useMemo(() => asJson(text), [text]);
  const other = value !== undefined ? "JSON" : MARKS.test(text) ? "Markdown" : null;
  const [chosen, setChosen] = useState<View | null>(null);
  const view = chosen ?? (other === "JSON" || (other === "Markdown" && markdown) ? other : "Text");
  return (
    <div className="prose">
      <div className="prose-text">
        {view === "JSON" && value !== undefined ? (
          <Tree value={value} label={label} copies={false} />
        ) : view === "Markdown" ? (
          <LongText text={text} draw={(part) => <Markdown text={part} />} />
        ) : (
          <p className="to-the-letter">
            <LongText text={text} />
          </p>
        )}
      </div>
      {text !== "" && (
        <div className="prose-tools">
          {other !== null && (
            <fieldset className="segments small">
              <legend className="visually-hidden">How to show {label}</legend>
              {(["Text", other] as const).map((each) => (
                <button
                  key={each}
                  type="button"
                  className="segment"
                  aria-pressed={each === view}
                  onClick={() => setChosen(each)}
                >
                  {each}
                </button>
              ))}
            </fieldset>
          )}
          <Copy text={async () => (whole ? asText(await whole()) : text)} of={label} />
        </div>
      )}
    </div>
  );
}

/** What Markdown may read as something else than letters. */
const MARKS = /[*_`~[\]<>|\\]|^\s*(#|[-+]\s|\d+[.)]\s)|https?:/m;

const asText = (value: Json): string => (typeof value === "string" ? value : pretty(value));

/** Structured messages travel as JSON texts. */
function asJson(text: string): Json | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return readJsonText(text);
  } catch {
    return undefined;
  }
}
