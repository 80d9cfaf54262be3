import type { Json } from "../../api/client";
import { Tree } from "../../json/Tree";
import type { ToolDeclaration } from "../../ledger/event";
import { Markdown } from "../../ui/Markdown";

/** The agent's tools with what they are for and what they take. */
export function ToolList({ tools }: { tools: ToolDeclaration[] }) {
  if (tools.length === 0) return null;
  return (
    <details className="card">
      <summary>
        <h2>Tools ({tools.length})</h2>
      </summary>
      <ul className="tool-list">
        {tools.map((tool) => (
          <li key={tool.name}>
            <details>
              <summary className="mono">{tool.name}</summary>
              {tool.description && (
                <div className="soft">
                  <Markdown text={tool.description} />
                </div>
              )}
              <Tree value={(tool.parameters ?? {}) as Json} label={`the schema of ${tool.name}`} depth={3} />
            </details>
          </li>
        ))}
      </ul>
    </details>
  );
}
