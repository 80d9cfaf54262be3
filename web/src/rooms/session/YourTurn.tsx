import { useEffect, useState } from "react";
import { Icon } from "../../ui/Icon";

const HEADING = "decide-heading";

/** On a narrow screen the decision stands below everything else: this leads to it while it is out of sight. */
export function YourTurn() {
  const [away, setAway] = useState(false);
  useEffect(() => {
    const decide = document.getElementById(HEADING)?.closest("section");
    if (!decide) return;
    const observer = new IntersectionObserver(
      ([entry]) => setAway(entry !== undefined && !entry.isIntersecting),
      {
        // A strip of it at the edge is not in sight.
        rootMargin: "-80px 0px",
      },
    );
    observer.observe(decide);
    return () => observer.disconnect();
  }, []);
  if (!away) return null;
  const go = () => {
    const heading = document.getElementById(HEADING);
    heading?.scrollIntoView({ block: "start" });
    heading?.focus({ preventScroll: true });
  };
  return (
    <div className="your-turn">
      <button type="button" className="button primary" onClick={go}>
        <Icon name="down" />
        Your turn: decide
      </button>
    </div>
  );
}
