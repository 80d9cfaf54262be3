import { type ReactNode, useState } from "react";

/** How many characters are shown before somebody asks for more, and how many more each time. */
const CHARACTERS = 2_000;
const MORE_CHARACTERS = 50_000;

interface LongTextProps {
  text: string;
  /** As far as here it is shown from the beginning: what is looked for must be in sight. */
  upTo?: number;
  /** How the part that is shown is drawn; as it is, unless told otherwise. */
  draw?(text: string): ReactNode;
}

/** How many characters come next, and how many there are beside those. */
function words(left: number): string {
  const many = left.toLocaleString("en");
  if (left > MORE_CHARACTERS) return `${MORE_CHARACTERS.toLocaleString("en")} of ${many} more characters`;
  return left === 1 ? "the last character" : `the last ${many} characters`;
}

/** A text to the letter; a long one in pieces. */
export function LongText({ text, upTo = 0, draw = (text) => text }: LongTextProps) {
  const [asked, setAsked] = useState(CHARACTERS);
  const shown = Math.max(asked, upTo);
  const left = text.length - shown;
  if (left <= 0) return draw(text);
  return (
    <>
      {draw(text.slice(0, shown))}
      <button type="button" className="button small" onClick={() => setAsked(shown + MORE_CHARACTERS)}>
        … show {words(left)}
      </button>
    </>
  );
}
