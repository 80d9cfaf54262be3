import { useState } from "react";
import { Prose } from "../../ui/Prose";

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
        <Prose text={text} label="the instructions" markdown />
      </div>
    </details>
  );
}
