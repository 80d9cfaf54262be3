import { expect, test } from "./fixtures";
import { decide, entry, execute, fill, golden, pick, sessionId } from "./session";

test("what needs a confirmation is approved on the page, and the real tool runs then", async ({
  page,
  stage,
}) => {
  await page
    .getByRole("region", { name: "Agents you can start" })
    .getByRole("link", { name: /^payer/ })
    .click();
  await page.getByLabel("User query").fill("Pay 3\nplease");
  await page.getByText("More settings").click();
  await page.getByLabel("Go on after the final response, for more messages").check();
  await page.getByRole("button", { name: "Start session" }).click();
  await fill(await pick(page, "pay"), { amount: "3" });
  await execute(page);
  const asks = page.getByRole("region", { name: "The agent asks for your confirmation" });
  await expect(asks).toContainText("pay");
  await expect(page.getByRole("timer")).toHaveCount(0);
  await asks.getByRole("button", { name: "Approve" }).click();
  await expect(asks).toHaveCount(0);
  await expect(entry(page, /^Tool output pay$/).last()).toContainText("paid 3");
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  await decide(page).getByLabel("Final response", { exact: true }).fill("Paid.");
  await decide(page).getByRole("button", { name: "Send final response" }).click();
  await page.getByRole("button", { name: "Complete the session" }).click();
  await expect(golden(page)).toBeVisible();
  const case_ = await stage.get<{
    conversation: { intermediate_data: { tool_responses: { name: string; response: object }[] } }[];
  }>(`/v1/sessions/${sessionId(page)}/eval-case`);
  const given = case_.conversation.at(-1)?.intermediate_data.tool_responses;
  expect(given).toMatchObject([{ name: "pay", response: { result: "paid 3" } }]);
});
