import { describe, expect, it } from "vitest";
import { artifactsOf, textOfPart } from "../../src/ledger/artifacts";
import type { LedgerEvent } from "../../src/ledger/event";

const told = (seq: number, fields: object, type = "artifact_saved"): LedgerEvent =>
  ({
    seq,
    session: "s",
    at: "2026-01-01T00:00:00Z",
    author: "a",
    body: { type, ...fields },
  }) as LedgerEvent;

describe("artifacts", () => {
  it("have their versions, the newest first, and nothing of other events", () => {
    const events = [
      told(3, { name: "a.png", version: 0, mime_type: "image/png", size: 3, part: { text: "x" } }),
      told(4, { name: "b", version: 0, left_out: "too large" }),
      told(5, { name: "a.png", version: 1 }),
      told(6, { name: "c", version: 0 }, "late_result"),
    ];
    const found = artifactsOf(events);
    expect(
      [...found].map(([name, versions]) => [name, versions.map(({ version, seq }) => [version, seq])]),
    ).toEqual([
      [
        "a.png",
        [
          [1, 5],
          [0, 3],
        ],
      ],
      ["b", [[0, 4]]],
    ]);
    expect(found.get("b")?.[0]).toMatchObject({ part: null, leftOut: "too large" });
  });

  it("are texts where their kind says so and their bytes are", () => {
    const inline = (mime_type: string, data: string) => textOfPart({ inline_data: { mime_type, data } });
    expect(textOfPart({ text: "plain" })).toBe("plain");
    expect(inline("text/csv; charset=utf-8", btoa("a,b"))).toBe("a,b");
    expect(inline("application/json", "eyJhIjoiw78_In0=")).toBe('{"a":"ÿ?"}');
    expect(inline("image/svg+xml", btoa("<svg/>"))).toBe("<svg/>");
    expect(inline("application/pdf", btoa("%PDF"))).toBeNull();
    expect(inline("text/plain", btoa("\xff\xfe"))).toBeNull();
    expect(inline("text/plain", "not base64!")).toBeNull();
    expect(inline("text/plain", "QUFB… (70000 bytes more)")).toBeNull();
  });
});
