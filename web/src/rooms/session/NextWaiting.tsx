import { Link } from "wouter";
import { useWaiting, WAITS_FOR } from "../../api/waiting";
import { Icon } from "../../ui/Icon";

/** The way from a session in which nothing waits to the one that has waited longest. */
export function NextWaiting({ session }: { session: string }) {
  const others = useWaiting().filter((cue) => cue.session !== session && cue.head && cue.status === "open");
  const [next] = others;
  if (!next) return null;
  return (
    <Link className="button next-waiting" href={`/sessions/${next.session}`}>
      <Icon name="wait" />
      <span className="grow">
        Next waiting: <strong>{next.agent}</strong>{" "}
        <span className="soft">
          needs {WAITS_FOR[next.kind] ?? next.kind}
          {others.length > 1 && ` · ${others.length} wait`}
        </span>
      </span>
      <Icon name="chevron" />
    </Link>
  );
}
