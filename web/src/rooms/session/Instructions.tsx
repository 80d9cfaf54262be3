import { useState } from "react";
import { Markdown } from "../../ui/Markdown";

/** What the agent was told to be: in sight from the beginning, and out of the way when it is known. */
export function Instructions({ text, of }: { text: string | null; of: string | null }) {
  const [open, setOpen] = useState(true);
  if (text === null || text.trim() === "") return null;
  return (
    <details
      className="instructions card"
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <h2>Instructions{of !== null && ` of ${of}`}</h2>
      </summary>
      <div className="instructions-text">
        <Markdown text={text} />
      </div>
    </details>
  );
}
