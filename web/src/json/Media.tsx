import { useEffect, useMemo, useState } from "react";
import { inWords, type Json } from "../api/client";
import { type Medium, mediaIn } from "./media";

/** What the server has cut is read by itself up to this size; more than that when somebody asks. */
const READ_BYTES = 4 << 20;

interface MediaProps {
  value: Json;
  /** What they are in: "the output of draw". */
  label: string;
  /** Reads the value whole, where the server has cut it. */
  whole?: (() => Promise<Json>) | undefined;
}

/** The pictures and sounds of a value. Their data is in the ledger; nothing is fetched from elsewhere. */
export function Media({ value, label, whole }: MediaProps) {
  const here = useMemo(() => mediaIn(value), [value]);
  const [read, setRead] = useState<{ of: Json; media: Medium[] } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const media = read?.of === value ? read.media : here;
  const cut = media.filter(({ src }) => src === null);
  const bytes = cut.reduce((sum, medium) => sum + medium.bytes, 0);
  const isCut = cut.length > 0 && whole !== undefined;
  const readAll = () => {
    whole?.().then(
      (all) => setRead({ of: value, media: mediaIn(all) }),
      (error: unknown) => setProblem(inWords(error)),
    );
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: read once for each value
  useEffect(() => {
    if (isCut && bytes <= READ_BYTES) readAll();
  }, [isCut, value]);
  if (media.length === 0) return null;
  return (
    <div className="media">
      {media.map((medium, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are known by their order
        <Figure key={index} medium={medium} name={`${words(medium)} ${index + 1} in ${label}`} />
      ))}
      {isCut && bytes > READ_BYTES && (
        <button type="button" className="button small" onClick={readAll}>
          Show all of it ({Math.round(bytes / 1024).toLocaleString("en")} kB)
        </button>
      )}
      {problem !== null && <p role="alert">{problem}</p>}
    </div>
  );
}

const words = ({ kind }: Medium): string => (kind === "image" ? "Picture" : "Sound");

function Figure({ medium, name }: { medium: Medium; name: string }) {
  const size = `${medium.type}, ${Math.max(1, Math.round(medium.bytes / 1024)).toLocaleString("en")} kB`;
  return (
    <figure>
      {medium.src === null ? null : medium.kind === "image" ? (
        <img src={medium.src} alt={name} />
      ) : (
        // biome-ignore lint/a11y/useMediaCaption: nobody wrote captions for what a tool gave
        <audio controls preload="metadata" src={medium.src} aria-label={name} />
      )}
      <figcaption className="soft">{size}</figcaption>
    </figure>
  );
}
