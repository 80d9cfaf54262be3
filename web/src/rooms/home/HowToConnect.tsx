import { useState } from "react";
import { Command } from "../../ui/Copy";

const HOST = `pip install 'agent-rehearsal[adk]'
rehearsal host path/to/agent_package --evalset golden.evalset.json`;

const PLUGIN = `from rehearsal import RehearsalPlugin

app = App(name="shop", root_agent=agent, plugins=[RehearsalPlugin()])`;

/** An empty page says in three lines how to fill it. */
export function HowToConnect() {
  const [origin] = useState(() => window.location.origin);
  return (
    <section className="card stack" aria-labelledby="connect-heading">
      <h2 id="connect-heading">Connect an agent</h2>
      <ol className="steps stack">
        <li>
          <div className="stack tight">
            <p>
              <strong>Begin here, with the query:</strong> let Rehearsal run your Google ADK agent. It appears
              on this page.
            </p>
            <Command text={HOST} />
          </div>
        </li>
        <li>
          <div className="stack tight">
            <p>
              <strong>Or in your own program:</strong> give your app the plugin. It stops at each model call
              and waits for you here.
            </p>
            <Command text={PLUGIN} />
          </div>
        </li>
        <li>
          <p>
            Both look for this server at <code>http://127.0.0.1:4200</code>; for another one set{" "}
            <code>REHEARSAL_SERVER={origin}</code>. The token is in <code>.rehearsal/token</code>.
          </p>
        </li>
      </ol>
    </section>
  );
}
