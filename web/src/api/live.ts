/**
 * What changes, as it changes: one stream of `/v1/changes` for all tabs of this browser.
 *
 * Browsers open at most six connections to a server without TLS, so the tabs share one. Whoever holds the lock reads
 * the stream and tells the others. A change only says where to look; what changed is read from the server.
 */

export type Change = { session: string } | { run: string } | "everything";
/** `locked`: the server is there, and does not let this browser in. */
export type Connection = "connecting" | "open" | "lost" | "locked";

type Told = { change: Change } | { connection: Connection } | { hello: true };

const LOCK = "rehearsal-changes";
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 3000;
/** How often a server is asked that did not answer. */
const ASK_MS = 2000;

export class Live {
  private readonly changeListeners = new Set<(change: Change) => void>();
  private readonly connectionListeners = new Set<() => void>();
  private channel: BroadcastChannel | null = null;
  private readonly ended = new AbortController();
  private state: Connection = "connecting";
  /** What is known of the stream. */
  private stream: Connection = "connecting";
  /** Whether calls are not answered, though the stream may seem to be open. */
  private silent = false;
  private asks = false;
  private leads = false;

  start(): void {
    const { signal } = this.ended;
    // The server may be on this machine, where it answers all the same.
    window.addEventListener("offline", this.goneOffline);
    this.share(signal).catch(() => {
      // Then this tab has a stream of its own, and neither speaks for others nor hears them.
      this.channel?.close();
      this.channel = null;
      if (!signal.aborted) return this.read(signal);
    });
  }

  /** Listens to the tab that reads, and reads when its own turn comes. Fails where tabs cannot share. */
  private async share(signal: AbortSignal): Promise<void> {
    // Without TLS on another machine there are no locks, and a browser may deny what it has.
    if (typeof BroadcastChannel === "undefined" || !("locks" in navigator))
      throw new Error("nothing to share");
    this.channel = new BroadcastChannel(LOCK);
    this.channel.onmessage = (event: MessageEvent<Told>) => this.hear(event.data);
    this.channel.postMessage({ hello: true } satisfies Told);
    await navigator.locks.request(LOCK, { signal }, () => this.read(signal));
  }

  private readonly goneOffline = () => void this.doubt();

  stop(): void {
    window.removeEventListener("offline", this.goneOffline);
    this.ended.abort();
    this.channel?.close();
  }

  onChange(listener: (change: Change) => void): () => void {
    this.changeListeners.add(listener);
    return () => this.changeListeners.delete(listener);
  }

  readonly onConnection = (listener: () => void): (() => void) => {
    this.connectionListeners.add(listener);
    return () => this.connectionListeners.delete(listener);
  };

  readonly connection = (): Connection => this.state;

  /** Whether this tab speaks for the others of this browser. */
  readonly leading = (): boolean => this.leads;

  private hear(told: Told): void {
    if ("change" in told) this.pass(told.change);
    else if ("connection" in told) this.stand(told.connection);
    else if (this.leads) this.tell({ connection: this.stream });
  }

  private tell(told: Told): void {
    if (!this.ended.signal.aborted) this.channel?.postMessage(told);
  }

  private pass(change: Change): void {
    for (const listener of this.changeListeners) listener(change);
  }

  private stand(stream: Connection): void {
    this.stream = stream;
    this.settle();
  }

  private settle(): void {
    const state = this.silent && this.stream === "open" ? "lost" : this.stream;
    if (this.state === state) return;
    this.state = state;
    for (const listener of this.connectionListeners) listener();
    // Whatever happened meanwhile was told to nobody here.
    if (state === "open") this.pass("everything");
  }

  private lead(state: Connection): void {
    this.stand(state);
    this.tell({ connection: state });
  }

  /** A call had no answer: a network may break while the stream stays open, and nobody would be told. */
  async doubt(): Promise<void> {
    if (this.asks) return;
    this.asks = true;
    const { signal } = this.ended;
    for (;;) {
      this.silent = !(await answers(signal));
      this.settle();
      if (!this.silent || signal.aborted) break;
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
    this.asks = false;
  }

  /** Somebody was refused: whoever reads the stream looks whether all are. */
  lock(): void {
    if (this.leads) this.lead("locked");
    else this.stand("locked");
  }

  /** Reads the stream until this tab goes, again whenever it breaks. */
  private async read(signal: AbortSignal): Promise<void> {
    this.leads = true;
    // Whoever led before has gone, and what happens until this stream is open is told to nobody.
    this.lead("connecting");
    let pause = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const opened = await this.readOnce(signal);
      if (signal.aborted) return;
      if (!opened && (await isLocked(signal))) this.lead("locked");
      if (signal.aborted) return;
      pause = opened ? FIRST_PAUSE_MS : Math.min(pause * 2, LONGEST_PAUSE_MS);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Reads one stream to its end; says whether it was ever open. */
  private readOnce(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const source = new EventSource("/v1/changes");
      let opened = false;
      const end = () => {
        signal.removeEventListener("abort", end);
        source.close();
        // Whoever is locked out stays so until they are let in.
        if (!signal.aborted && (opened || this.state !== "locked")) this.lead("lost");
        resolve(opened);
      };
      signal.addEventListener("abort", end);
      source.onopen = () => {
        opened = true;
        this.lead("open");
      };
      source.onerror = end;
      const pass = (change: Change) => {
        this.pass(change);
        this.tell({ change });
      };
      source.addEventListener("session", (event) => pass(JSON.parse(event.data) as { session: string }));
      source.addEventListener("run", (event) => pass(JSON.parse(event.data) as { run: string }));
      source.addEventListener("everything", () => pass("everything"));
    });
  }
}

/** Whether the server answers at all, whatever it says. */
async function answers(signal: AbortSignal): Promise<boolean> {
  try {
    await fetch("/v1/cues?limit=1", { signal });
    return true;
  } catch {
    return signal.aborted;
  }
}

/** A stream does not say why it did not open; a call does. */
async function isLocked(signal: AbortSignal): Promise<boolean> {
  try {
    return (await fetch("/v1/cues?limit=1", { signal })).status === 401;
  } catch {
    return false;
  }
}

export const live = new Live();
