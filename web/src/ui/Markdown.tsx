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
        remarkPlugins={[remarkGfm]}
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
