import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Change, type Connection, Live } from "../../src/api/live";

/** A stream that says what the test wants it to. */
class Stream extends EventTarget {
  static all: Stream[] = [];
  onopen: (() => void) | null = null;
  onerror: (() => void) | null = null;
  closed = false;

  constructor(readonly url: string) {
    super();
    Stream.all.push(this);
  }

  close(): void {
    this.closed = true;
  }

  say(name: string, data = ""): void {
    this.dispatchEvent(new MessageEvent(name, { data }));
  }
}

/** Channels of one browser: each hears the others at once. */
class Channel {
  static open = new Set<Channel>();
  onmessage: ((event: { data: unknown }) => void) | null = null;

  constructor() {
    Channel.open.add(this);
  }

  postMessage(data: unknown): void {
    for (const other of Channel.open) if (other !== this) other.onmessage?.({ data });
  }

  close(): void {
    Channel.open.delete(this);
  }
}

/** A lock that the first one has until it lets it go. */
class Locks {
  private last: Promise<unknown> = Promise.resolve();

  request(_: string, { signal }: { signal: AbortSignal }, work: () => Promise<void>): Promise<void> {
    const turn = this.last.then(() => (signal.aborted ? undefined : work()));
    this.last = turn;
    return turn;
  }
}

const tabs: Live[] = [];
/** What calls are answered with, by those who ask why a stream did not open. */
let status = 503;

function tab(): { live: Live; changes: Change[]; connections: Connection[] } {
  const live = new Live();
  const [changes, connections]: [Change[], Connection[]] = [[], []];
  live.onChange((change) => changes.push(change));
  live.onConnection(() => connections.push(live.connection()));
  live.start();
  tabs.push(live);
  return { live, changes, connections };
}

const moment = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", Stream);
  vi.stubGlobal("BroadcastChannel", Channel);
  status = 503;
  vi.stubGlobal("fetch", async () => new Response("", { status }));
});
afterEach(() => {
  for (const live of tabs.splice(0)) live.stop();
  Stream.all = [];
  Channel.open.clear();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("tabs that can share", () => {
  beforeEach(() => vi.stubGlobal("navigator", { locks: new Locks() }));

  it("are locked while the server does not let them in, and not merely without a connection", async () => {
    const [first, second] = [tab(), tab()];
    await moment();
    status = 401;
    for (const _ of [1, 2, 3]) {
      Stream.all.at(-1)?.onerror?.();
      await vi.advanceTimersByTimeAsync(4000);
      expect(first.live.connection()).toBe("locked");
      expect(second.live.connection()).toBe("locked");
    }
    expect(first.connections.filter((state) => state === "lost")).toHaveLength(1);
    Stream.all.at(-1)?.onopen?.();
    expect(first.live.connection()).toBe("open");
    expect(second.live.connection()).toBe("open");
    expect(second.changes).toContain("everything");
  });

  it("have one stream, and all hear what it says", async () => {
    const [first, second] = [tab(), tab()];
    await moment();
    expect(Stream.all).toHaveLength(1);
    const [stream] = Stream.all;
    stream?.onopen?.();
    stream?.say("session", '{"session":"s"}');
    stream?.say("everything");
    for (const { live, changes } of [first, second]) {
      expect(live.connection()).toBe("open");
      expect(changes).toEqual(["everything", { session: "s" }, "everything"]);
    }
    stream?.onerror?.();
    expect(second.live.connection()).toBe("lost");
  });

  it("go on when the one with the stream goes", async () => {
    const [first, second] = [tab(), tab()];
    await moment();
    first.live.stop();
    await moment();
    expect(Stream.all.map((stream) => stream.closed)).toEqual([true, false]);
    Stream.all[1]?.onopen?.();
    expect(second.live.connection()).toBe("open");
  });

  it("tell a new one how it stands", async () => {
    tab();
    await moment();
    Stream.all[0]?.onopen?.();
    expect(tab().live.connection()).toBe("open");
  });
});

describe.each([
  ["no locks", () => vi.stubGlobal("navigator", {})],
  [
    "locks that are denied",
    () =>
      vi.stubGlobal("navigator", {
        locks: { request: () => Promise.reject(new DOMException("denied", "SecurityError")) },
      }),
  ],
  [
    "locks that throw",
    () =>
      vi.stubGlobal("navigator", {
        locks: {
          request: () => {
            throw new DOMException("denied", "SecurityError");
          },
        },
      }),
  ],
  [
    "no channel",
    () => {
      vi.stubGlobal("navigator", { locks: new Locks() });
      vi.stubGlobal("BroadcastChannel", undefined);
    },
  ],
  [
    "a channel that is denied",
    () => {
      vi.stubGlobal("navigator", { locks: new Locks() });
      vi.stubGlobal("BroadcastChannel", function denied() {
        throw new DOMException("denied", "SecurityError");
      });
    },
  ],
])("tabs with %s", (_, without) => {
  beforeEach(without);

  it("have a stream each, and speak for themselves only", async () => {
    const [first, second] = [tab(), tab()];
    await moment();
    expect(Stream.all).toHaveLength(2);
    const [one, other] = Stream.all;
    one?.onopen?.();
    other?.onopen?.();
    one?.onerror?.();
    expect(first.live.connection()).toBe("lost");
    expect(second.live.connection()).toBe("open");
    expect(second.connections).toEqual(["open"]);
    other?.say("session", '{"session":"s"}');
    expect(first.changes).toEqual(["everything"]);
    expect(second.changes).toEqual(["everything", { session: "s" }]);
  });
});

describe("a stream", () => {
  beforeEach(() => vi.stubGlobal("navigator", {}));

  it("is opened again when it breaks, and what happened meanwhile is looked for", async () => {
    const { live, changes } = tab();
    for (let times = 1; times <= 5; times += 1) {
      await vi.advanceTimersByTimeAsync(3000);
      expect(Stream.all.filter((stream) => !stream.closed)).toHaveLength(1);
      Stream.all.at(-1)?.onopen?.();
      expect(live.connection()).toBe("open");
      expect(changes).toHaveLength(times);
      Stream.all.at(-1)?.onerror?.();
      expect(live.connection()).toBe("lost");
    }
  });

  it("leaves nothing behind when it is tried again and again", async () => {
    const listened = vi.spyOn(AbortSignal.prototype, "addEventListener");
    const left = vi.spyOn(AbortSignal.prototype, "removeEventListener");
    tab();
    for (let times = 0; times < 20; times += 1) {
      Stream.all.at(-1)?.onerror?.();
      await vi.advanceTimersByTimeAsync(3000);
    }
    expect(listened.mock.calls.length - left.mock.calls.length).toBeLessThanOrEqual(1);
    vi.restoreAllMocks();
  });

  it("is closed with its tab and not opened again", async () => {
    const { live } = tab();
    await moment();
    live.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(Stream.all.map((stream) => stream.closed)).toEqual([true]);
    expect(live.connection()).toBe("connecting");
  });
});

describe("a network that breaks while the stream stays open", () => {
  beforeEach(() => vi.stubGlobal("navigator", { locks: new Locks() }));

  it("is told once a call has no answer, and what happened meanwhile is looked for when it is back", async () => {
    const { live, changes } = tab();
    await moment();
    Stream.all[0]?.onopen?.();
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("Failed to fetch");
    });
    void live.doubt();
    await moment();
    expect(live.connection()).toBe("lost");
    const before = changes.length;
    vi.stubGlobal("fetch", async () => new Response("", { status: 200 }));
    await vi.advanceTimersByTimeAsync(2000);
    expect(live.connection()).toBe("open");
    expect(changes.slice(before)).toEqual(["everything"]);
  });

  it("is not told by a server that answers, as one does on the same machine", async () => {
    const { live, connections } = tab();
    await moment();
    Stream.all[0]?.onopen?.();
    window.dispatchEvent(new Event("offline"));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(live.connection()).toBe("open");
    expect(connections).not.toContain("lost");
  });

  it("leaves what the stream says to the stream", async () => {
    const { live } = tab();
    await moment();
    Stream.all[0]?.onopen?.();
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("Failed to fetch");
    });
    void live.doubt();
    await moment();
    Stream.all[0]?.onerror?.();
    vi.stubGlobal("fetch", async () => new Response("", { status: 200 }));
    await vi.advanceTimersByTimeAsync(2000);
    // Calls are answered again; only an open stream tells what changes.
    expect(live.connection()).toBe("lost");
    Stream.all.at(-1)?.onopen?.();
    expect(live.connection()).toBe("open");
  });
});
