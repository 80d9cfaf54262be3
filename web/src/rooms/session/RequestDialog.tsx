import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, type Json, type JsonObject } from "../../api/client";
import { Tree } from "../../json/Tree";
import type { Content, ToolDeclaration } from "../../ledger/event";
import { Dialog } from "../../ui/Dialog";
import { ProblemNotice } from "../../ui/Notice";
import { Prose } from "../../ui/Prose";

/** What a model is asked, whole. */
export interface ModelRequest {
  model?: string;
  system?: string;
  contents: Content[];
  tools: ToolDeclaration[];
  output_schema?: JsonObject;
  settings?: JsonObject;
}

interface Turn {
  turn_id: string;
  agent: string;
  request: ModelRequest;
}

/** Everything the model saw in a turn. */
export function RequestDialog({
  session,
  turn,
  onClose,
}: {
  session: string;
  turn: string;
  onClose(): void;
}) {
  const found = useQuery({
    queryKey: ["turn", session, turn],
    queryFn: ({ signal }) => get<Turn>(`/v1/sessions/${session}/turns/${turn}`, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  return (
    <Dialog title="What the model saw" onClose={onClose}>
      {found.isPending && <p className="soft">Reading it…</p>}
      {found.error && <ProblemNotice error={found.error} />}
      {found.data && <RequestView request={found.data.request} />}
    </Dialog>
  );
}

export function RequestView({ request }: { request: ModelRequest }) {
  return (
    <div className="stack">
      {request.model && (
        <p>
          <span className="soft">Model: </span>
          <span className="mono">{request.model}</span>
        </p>
      )}
      <section className="stack tight">
        <h3>Instructions</h3>
        {request.system ? (
          <Prose text={request.system} label="the instructions" markdown />
        ) : (
          <p className="soft">none</p>
        )}
      </section>
      <Contents contents={request.contents} />
      <section className="stack tight">
        <h3>Tools ({request.tools.length})</h3>
        {request.tools.map((tool) => (
          <details key={tool.name}>
            <summary className="mono">{tool.name}</summary>
            <p className="to-the-letter">{tool.description}</p>
            <Tree value={(tool.parameters ?? {}) as Json} label={`the schema of ${tool.name}`} />
          </details>
        ))}
      </section>
      {request.output_schema && (
        <section className="stack tight">
          <h3>Output schema</h3>
          <Tree value={request.output_schema} label="the output schema" />
        </section>
      )}
      {request.settings && Object.keys(request.settings).length > 0 && (
        <section className="stack tight">
          <h3>Settings</h3>
          <Tree value={request.settings} label="the settings" />
        </section>
      )}
    </div>
  );
}

/** Of a long conversation so much is shown at a time, from its end: that is what is being answered. */
const SHOWN = 30;

function Contents({ contents }: { contents: readonly Content[] }) {
  const [shown, setShown] = useState(SHOWN);
  const first = Math.max(0, contents.length - shown);
  return (
    <section className="stack tight">
      <h3>Contents ({contents.length})</h3>
      {first > 0 && (
        <button type="button" className="button small start-self" onClick={() => setShown(shown + SHOWN)}>
          Show {Math.min(SHOWN, first)} more of {first} before these
        </button>
      )}
      {contents.slice(first).map((content, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: contents are only ever known by their order
        <div key={first + index} className="card">
          <p className="soft">
            {first + index + 1}. {content.role ?? "no role"}
          </p>
          <Parts content={content} />
        </div>
      ))}
    </section>
  );
}

function Parts({ content }: { content: Content }) {
  return (
    <>
      {(content.parts ?? []).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are only ever known by their order
        <div key={index}>
          {part.text !== undefined ? (
            <Prose text={part.text} label={part.thought ? "the thought" : "the text"} />
          ) : (
            <Tree value={part as unknown as Json} label={`part ${index + 1}`} />
          )}
        </div>
      ))}
    </>
  );
}
