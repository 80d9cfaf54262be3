import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";

/** Texts longer than this are shown as they are: laying them out would hold up the page. */
const LONGEST = 50_000;

/**
 * What a model or a person wrote, as Markdown. HTML in it stays text, and pictures become links, so that nothing is
 * fetched because somebody said so.
 */
export function Markdown({ text }: { text: string }) {
  if (text.length > LONGEST) return <pre>{text}</pre>;
  return (
    <div className="markdown">
      <ReactMarkdown
        remarkPlugins={[remarkGfm, keptLines]}
        components={{
          a: ({ href, children }) => (
            <a href={href} target="_blank" rel="noreferrer noopener">
              {children}
            </a>
          ),
          img: ({ src, alt }) => (
            <a href={typeof src === "string" ? src : undefined} target="_blank" rel="noreferrer noopener">
              {alt || "picture"}
            </a>
          ),
        }}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}

/**
 * A line that somebody began anew begins anew. (As white space in the style sheet, it would also show the line ends
 * that Markdown puts between blocks.)
 */
const keptLines = () => breakLines;

/** As much of a Markdown tree as is needed to find its texts. */
interface Piece {
  type: string;
  value?: string;
  children?: Piece[];
}

function breakLines(piece: Piece): void {
  for (const child of piece.children ?? []) breakLines(child);
  if (piece.children) piece.children = piece.children.flatMap(linesOf);
}

function linesOf(piece: Piece): Piece[] {
  if (piece.type !== "text") return [piece];
  const lines = (piece.value ?? "").split("\n").map((value) => ({ type: "text", value }));
  return lines.flatMap((line, index) => (index === 0 ? [line] : [{ type: "break" }, line]));
}
