import { focusManager, QueryObserver } from "@tanstack/react-query";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { cueQuery, queries, readAgain } from "../../src/api/queries";

/** A server whose value changes, and whose answers take a while: each is what was true when it was asked. */
class Slow {
  now = 0;
  asked = 0;
  aborted = 0;
  constructor(private readonly ms: number) {}

  readonly read = ({ signal }: { signal: AbortSignal }): Promise<number> =>
    new Promise((resolve, reject) => {
      this.asked += 1;
      const said = this.now;
      signal.addEventListener("abort", () => {
        this.aborted += 1;
        reject(new Error("aborted"));
      });
      setTimeout(() => resolve(said), this.ms);
    });

  change(): void {
    this.now += 1;
    readAgain({ queryKey: ["it"] });
  }
}

/** Looks at a query as a room does; says what was seen. */
function watch(server: Slow, queryKey: unknown[] = ["it"]): { seen: number[]; leave(): void } {
  const seen: number[] = [];
  const observer = new QueryObserver<number>(queries, { queryKey, queryFn: server.read });
  const leave = observer.subscribe(({ data }) => {
    if (data !== undefined && data !== seen.at(-1)) seen.push(data);
  });
  return { seen, leave };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  focusManager.setFocused(undefined);
  queries.clear();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe("what is read again", () => {
  it("is seen while changes come faster than answers, and is the newest in the end", async () => {
    const server = new Slow(40);
    const { seen } = watch(server);
    await vi.advanceTimersByTimeAsync(50);
    for (let change = 0; change < 100; change += 1) {
      server.change();
      await vi.advanceTimersByTimeAsync(30);
    }
    expect(server.aborted).toBe(0);
    // One after the other, with no pause between them.
    expect(seen.length).toBeGreaterThan(60);
    expect(server.asked).toBeLessThan(90);
    await vi.advanceTimersByTimeAsync(100);
    expect(seen.at(-1)).toBe(100);
  });

  it.each([0, 1, 2, 20])("misses none of %i changes that come during one reading", async (changes) => {
    const server = new Slow(40);
    const { seen } = watch(server);
    await vi.advanceTimersByTimeAsync(50);
    server.change();
    await vi.advanceTimersByTimeAsync(10);
    for (let change = 0; change < changes; change += 1) server.change();
    await vi.advanceTimersByTimeAsync(200);
    expect(seen.at(-1)).toBe(1 + changes);
    // The first one, the one under way, and once more however many changes there were.
    expect(server.asked).toBe(changes === 0 ? 2 : 3);
  });

  it("misses no change during the first reading", async () => {
    const server = new Slow(40);
    const { seen } = watch(server);
    await vi.advanceTimersByTimeAsync(10);
    server.change();
    await vi.advanceTimersByTimeAsync(200);
    expect(seen).toEqual([0, 1]);
    expect(server.asked).toBe(2);
  });

  it("misses no change when the reading that is under way fails", async () => {
    let refuse = true;
    const server = new Slow(40);
    const read: Slow["read"] = async (context) => {
      const said = await server.read(context);
      if (refuse) throw new Error("broken");
      return said;
    };
    const observer = new QueryObserver<number>(queries, { queryKey: ["it"], queryFn: read, retry: false });
    observer.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(10);
    server.change();
    await vi.advanceTimersByTimeAsync(35);
    refuse = false;
    await vi.advanceTimersByTimeAsync(100);
    expect(observer.getCurrentResult().data).toBe(1);
  });

  it("is read by whoever comes back, when the reading was given up in between", async () => {
    const server = new Slow(40);
    const first = watch(server);
    await vi.advanceTimersByTimeAsync(50);
    server.change();
    await vi.advanceTimersByTimeAsync(10);
    server.change();
    first.leave();
    await vi.advanceTimersByTimeAsync(100);
    const { seen } = watch(server);
    await vi.advanceTimersByTimeAsync(100);
    expect(seen.at(-1)).toBe(2);
  });

  it("is read in a tab that nobody looks at, though trying again waits for somebody", async () => {
    focusManager.setFocused(false);
    let away = false;
    const server = new Slow(5);
    const read: Slow["read"] = (context) => (away ? Promise.reject(new Error("away")) : server.read(context));
    const observer = new QueryObserver<number>(queries, { queryKey: ["it"], queryFn: read });
    observer.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(50);
    away = true;
    server.change();
    await vi.advanceTimersByTimeAsync(5000);
    expect(observer.getCurrentResult().fetchStatus).toBe("paused");
    away = false;
    server.change();
    await vi.advanceTimersByTimeAsync(50);
    expect(observer.getCurrentResult().data).toBe(2);
  });
});

describe("what a cue asks", () => {
  it("is read once, however much happens in its session", async () => {
    const fetched: string[] = [];
    vi.stubGlobal("fetch", async (path: string) => {
      fetched.push(path);
      await new Promise((resolve) => setTimeout(resolve, 20));
      return new Response('{"id":"c/1","kind":"model","prompt":{"request":{}}}');
    });
    const observer = new QueryObserver(queries, cueQuery("s", "c/1"));
    observer.subscribe(() => undefined);
    readAgain({ queryKey: ["session", "s"] });
    await vi.advanceTimersByTimeAsync(100);
    for (let change = 0; change < 10; change += 1) {
      readAgain({ queryKey: ["session", "s"] });
      readAgain({});
      await vi.advanceTimersByTimeAsync(30);
    }
    expect(fetched).toEqual(["/v1/cues/c%2F1"]);
    expect(observer.getCurrentResult().data?.kind).toBe("model");
    // Whoever comes back to it finds it.
    new QueryObserver(queries, cueQuery("s", "c/1")).subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(fetched).toHaveLength(1);
  });

  it("is read again when it could not be read", async () => {
    let status = 500;
    vi.stubGlobal("fetch", async () => new Response('{"id":"c","detail":"broken"}', { status }));
    const observer = new QueryObserver(queries, cueQuery("s", "c"));
    observer.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(100);
    expect(observer.getCurrentResult().error?.message).toBe("broken");
    status = 200;
    readAgain({ queryKey: ["session", "s"] });
    await vi.advanceTimersByTimeAsync(100);
    expect(observer.getCurrentResult().data?.id).toBe("c");
  });
});
