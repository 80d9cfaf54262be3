import { useEffect, useState } from "react";
import { get, inWords, type Json } from "../../api/client";
import { Media } from "../../json/Media";
import { mediaIn } from "../../json/media";
import { type ArtifactVersion, bytesOf, partOf, textOfPart } from "../../ledger/artifacts";
import type { LedgerEvent, Part } from "../../ledger/event";
import { Prose } from "../../ui/Prose";

/** So many artifacts are shown at a time. */
const SHOWN = 20;

interface ArtifactsProps {
  session: string;
  artifacts: ReadonlyMap<string, readonly ArtifactVersion[]>;
}

/** What the agent has saved: each artifact with its newest version, and the ones before it. */
export function Artifacts({ session, artifacts }: ArtifactsProps) {
  const [shown, setShown] = useState(SHOWN);
  if (artifacts.size === 0) return null;
  const left = artifacts.size - shown;
  return (
    <details className="card artifacts" open>
      <summary>
        <h2>Artifacts ({artifacts.size})</h2>
      </summary>
      <ul aria-label="Artifacts">
        {[...artifacts].slice(0, shown).map(([name, [newest, ...older]]) => (
          <li key={name}>
            <h3 className="mono">{name}</h3>
            {newest && <Version session={session} artifact={newest} />}
            {older.length > 0 && <Older session={session} versions={older} />}
          </li>
        ))}
      </ul>
      {left > 0 && (
        <button type="button" className="button small" onClick={() => setShown(shown + SHOWN)}>
          {Math.min(SHOWN, left)} more of {left}
        </button>
      )}
    </details>
  );
}

function Older({ session, versions }: { session: string; versions: readonly ArtifactVersion[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{versions.length === 1 ? "1 earlier version" : `${versions.length} earlier versions`}</summary>
      {open &&
        versions.slice(0, SHOWN).map((each) => <Version key={each.seq} session={session} artifact={each} />)}
      {open && versions.length > SHOWN && (
        <p className="soft">The others are in the timeline, under “All events”.</p>
      )}
    </details>
  );
}

function Version({ session, artifact }: { session: string; artifact: ArtifactVersion }) {
  const { version, seq, mimeType, size } = artifact;
  const facts = [`version ${version}`, mimeType, size === null ? null : sizeWords(size)].filter(Boolean);
  return (
    <div className="stack tight artifact-version">
      <p className="soft">
        {facts.join(", ")}, saved at{" "}
        <a href={`#e${seq}`} title="The event that tells of it">
          #{seq}
        </a>
      </p>
      <ArtifactContent session={session} artifact={artifact} brief />
    </div>
  );
}

interface ContentProps {
  session: string;
  artifact: ArtifactVersion;
  /** Whether a long text waits until somebody wants to read it. */
  brief?: boolean;
}

/** Longer texts do not stand beside everything else. */
const LONG_TEXT = 600;

/** The content of an artifact as what it is: a picture, a sound, a text, else something to download. */
export function ArtifactContent({ session, artifact, brief = false }: ContentProps) {
  const { name, version, seq, leftOut, isCut } = artifact;
  const [whole, setWhole] = useState<Part | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const isHere = artifact.part !== null;
  // What is kept is small enough to be read whole.
  useEffect(() => {
    if (!isCut || !isHere) return;
    let gone = false;
    get<LedgerEvent>(`/v1/sessions/${session}/events/${seq}`).then(
      (event) => !gone && setWhole(partOf(event) as Part | null),
      (error: unknown) => !gone && setProblem(inWords(error)),
    );
    return () => {
      gone = true;
    };
  }, [session, seq, isCut, isHere]);
  if (problem !== null) return <p role="alert">{problem}</p>;
  if (artifact.part === null)
    return <p className="soft">The content is not kept here{leftOut === null ? "." : `: ${leftOut}.`}</p>;
  const part = isCut ? whole : artifact.part;
  if (part === null) return <p className="soft">Reading it…</p>;
  const label = `${name}, version ${version}`;
  if (mediaIn(part as unknown as Json).length > 0)
    return <Media value={part as unknown as Json} label={label} />;
  const text = textOfPart(part);
  if (text !== null && brief && text.length > LONG_TEXT)
    return (
      <details>
        <summary>
          The text<span className="visually-hidden"> of {label}</span>
        </summary>
        <Prose text={text} label={label} />
      </details>
    );
  if (text !== null) return <Prose text={text} label={label} />;
  if (part.file_data) return <p className="mono">{part.file_data.file_uri}</p>;
  return <Download part={part} name={name} />;
}

function Download({ part, name }: { part: Part; name: string }) {
  const { data } = part.inline_data ?? {};
  const bytes = data === undefined ? null : bytesOf(data);
  if (bytes === null) return <p className="soft">It is of a kind that is not shown here.</p>;
  const save = () => {
    // Never by its own type: a browser would open what is HTML as a page of this server.
    const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
    const link = document.createElement("a");
    link.href = address;
    link.download =
      name
        .replace(/^user:/, "")
        .split("/")
        .at(-1) || "artifact";
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  return (
    <p>
      <button type="button" className="button small" onClick={save}>
        Download
        <span className="visually-hidden"> {name}</span>
      </button>
    </p>
  );
}

const sizeWords = (size: number): string =>
  size < 1024 ? `${size} bytes` : `${Math.round(size / 1024).toLocaleString("en")} kB`;
