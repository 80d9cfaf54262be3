import { rm } from "node:fs/promises";
import { expect, test } from "./fixtures";
import { call, entry, golden, names, respond, start } from "./session";

const FILE = "trouble.evalset.json";

test("a tool that raises is a Tool error with type, message and traceback; the session goes on and the error is exported", async ({
  page,
  stage,
}) => {
  await rm(stage.path(FILE), { force: true });
  await start(page, "trouble", "Fetch the page");
  await call(page, "fetch_data", { url: "http://nowhere.example" });
  const error = entry(page, "Tool error fetch_data");
  await expect(error).toContainText("ConnectionError");
  await expect(error).toContainText("cannot reach http://nowhere.example");

  // The traceback is there for those who want it.
  const traceback = error.getByText("Traceback (most recent call last)");
  await expect(traceback).toBeHidden();
  await error.getByText("Traceback", { exact: true }).click();
  await expect(traceback).toBeVisible();
  await expect(error).toContainText("raise ConnectionError");

  await call(page, "add", { a: "1", b: "2" });
  await respond(page, "The page could not be reached");
  await expect
    .poll(() => names(page))
    .toEqual([
      "User",
      "Tool call fetch_data",
      "Tool error fetch_data",
      "Tool call add",
      "Tool output add",
      "Final response trouble",
    ]);

  await golden(page).getByRole("button", { name: "Export", exact: true }).click();
  await expect(golden(page)).toContainText("Exported as");
  const set = await stage.readJson<{
    eval_cases: {
      conversation: { intermediate_data: { tool_responses: { name: string; response: object }[] } }[];
    }[];
  }>(FILE);
  const [failed, added] = set.eval_cases[0]?.conversation[0]?.intermediate_data.tool_responses ?? [];
  expect(failed?.name).toBe("fetch_data");
  expect(failed?.response).toEqual({
    error: { type: "ConnectionError", message: "cannot reach http://nowhere.example" },
  });
  expect(added?.response).toEqual({ result: 3 });
});
