import { expect, test } from "./fixtures";
import { choose, decide, pick, start } from "./session";

test("the key that sends is named wherever it sends", async ({ page }) => {
  const ask = await choose(page, "calculator");
  await expect(ask.getByText(/Ctrl.*Enter/)).toBeVisible();
  await start(page, "calculator", "1 + 1");
  await pick(page, "add");
  await expect(decide(page).getByText(/Ctrl.*Enter/)).toBeVisible();
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await expect(decide(page).getByText(/Ctrl.*Enter/)).toBeVisible();
  // One is chosen, the other sends: nothing has the name of both.
  await expect(decide(page).getByRole("button", { name: "Send final response" })).toHaveCount(1);
});
