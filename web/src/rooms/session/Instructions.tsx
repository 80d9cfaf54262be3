import { Markdown } from "../../ui/Markdown";

/** What the agent was told to be: in sight from the beginning, and out of the way when it is known. */
export function Instructions({ text }: { text: string | null }) {
  if (text === null || text.trim() === "") return null;
  return (
    <details className="instructions card" open>
      <summary>
        <h2>Instructions</h2>
      </summary>
      <div className="instructions-text">
        <Markdown text={text} />
      </div>
    </details>
  );
}
