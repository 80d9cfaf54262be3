import { QueryObserver } from "@tanstack/react-query";
import { afterEach, describe, expect, it, vi } from "vitest";
import { call, get, inWords, Problem, post, Unreachable } from "../../src/api/client";
import { queries } from "../../src/api/queries";
import { Big } from "../../src/json/exact";

afterEach(() => {
  queries.clear();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

const answers = (make: () => Response | Promise<Response>) => vi.stubGlobal("fetch", async () => make());
const failureOf = (made: Promise<unknown>): Promise<unknown> =>
  made.then(
    () => null,
    (error: unknown) => error,
  );
const problem = (status: number, type: string, detail: string) =>
  new Response(JSON.stringify({ type, status, detail }), { status });

describe("a call", () => {
  it.each([
    [429, "busy"],
    [502, "http"],
    [503, "store_locked"],
    [503, "store_unavailable"],
    [503, "closing"],
    [504, "http"],
  ])(
    "that a server refuses for now, with %i %s, may be made again, and says the server's words",
    async (status, kind) => {
      answers(() => problem(status, kind, "the store is away; try again"));
      const error = await failureOf(get("/v1/sessions"));
      expect(error).toBeInstanceOf(Unreachable);
      expect(error).not.toBeInstanceOf(Problem);
      expect(inWords(error)).toBe("the store is away; try again");
    },
  );

  it.each([429, 500, 502, 503, 504])("that %i answers without words may be made again", async (status) => {
    answers(() => new Response("<html>", { status }));
    const error = await failureOf(get("/v1/sessions"));
    expect(error).toBeInstanceOf(Unreachable);
    expect(inWords(error)).toBe("The server cannot be reached.");
  });

  it.each([401, 404, 409, 422, 500])("that is refused with %i and words is refused", async (status) => {
    answers(() => problem(status, "some_kind", "no"));
    const error = await failureOf(post("/v1/sessions"));
    expect(error).toMatchObject({ name: "Problem", status, kind: "some_kind", message: "no" });
  });

  it("that nobody answers promises nothing", async () => {
    answers(() => Promise.reject(new TypeError("Failed to fetch")));
    const error = await failureOf(post("/v1/sessions/s/export"));
    expect(error).toBeInstanceOf(Unreachable);
    expect(inWords(error)).toBe("The server cannot be reached.");
  });

  it.each([200, 404])("whose answer (%i) breaks off was not answered", async (status) => {
    const breaks = () =>
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"a":'));
          controller.error(new TypeError("network error"));
        },
      });
    answers(() => new Response(breaks(), { status }));
    expect(await failureOf(get("/v1/sessions"))).toBeInstanceOf(Unreachable);
  });

  it("that is given up is not one that nobody answered", async () => {
    const given = new AbortController();
    answers(() => {
      given.abort();
      return Promise.reject(given.signal.reason);
    });
    expect(await failureOf(get("/v1/sessions", given.signal))).toBe(given.signal.reason);
  });

  it("reads and sends whole numbers as they are, and nothing where there is nothing", async () => {
    let sent: unknown;
    vi.stubGlobal("fetch", async (_: string, { body }: RequestInit) => {
      sent = body;
      return new Response('{"id":12345678901234567890}');
    });
    expect(await post("/v1/x", { id: new Big("9007199254740993") })).toEqual({
      id: new Big("12345678901234567890"),
    });
    expect(sent).toBe('{"id":9007199254740993}');
    answers(() => new Response(null, { status: 204 }));
    expect(await call("DELETE", "/v1/x")).toBeUndefined();
  });
});

describe("what a busy server did not give", () => {
  const observed = () => {
    const observer = new QueryObserver(queries, {
      queryKey: ["it"],
      queryFn: ({ signal }) => get<{ ok: boolean }>("/v1/it", signal),
    });
    observer.subscribe(() => undefined);
    return observer;
  };

  it("is asked for again, and a no is not", async () => {
    vi.useFakeTimers();
    let asked = 0;
    answers(() => {
      asked += 1;
      return asked < 3 ? problem(429, "busy", "try again") : new Response('{"ok":true}');
    });
    const observer = observed();
    await vi.advanceTimersByTimeAsync(2000);
    expect(observer.getCurrentResult().data).toEqual({ ok: true });
    queries.clear();
    answers(() => {
      asked += 1;
      return problem(404, "not_found", "gone");
    });
    asked = 0;
    observed();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toBe(1);
  });

  it("is there when the server can again, though nobody tells", async () => {
    vi.useFakeTimers();
    let locked = true;
    answers(() =>
      locked ? problem(503, "store_locked", "the store is locked") : new Response('{"ok":true}'),
    );
    const observer = observed();
    await vi.advanceTimersByTimeAsync(8000);
    expect(observer.getCurrentResult().error?.message).toBe("the store is locked");
    await vi.advanceTimersByTimeAsync(60_000);
    locked = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(observer.getCurrentResult().data).toEqual({ ok: true });
  });
});
