import { Link } from "wouter";

/** The way back up. The last one is where we are. */
export function Crumbs({ way }: { way: [string, string | null][] }) {
  return (
    <nav aria-label="Where this is" className="crumbs">
      <ol>
        {way.map(([label, href]) => (
          <li key={href ?? ""}>
            {href ? <Link href={href}>{label}</Link> : <span aria-current="page">{label}</span>}
          </li>
        ))}
      </ol>
    </nav>
  );
}
