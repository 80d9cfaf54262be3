import { expect, test } from "./fixtures";
import { choose, decide, entry, field, golden, sessionId, yourTurn } from "./session";

test("an agent with an input schema is asked with a form, and answers with a form", async ({
  page,
  stage,
}) => {
  const ask = await choose(page, "researcher");
  const form = ask.getByRole("group", { name: "User query", exact: true });
  const query = field(form, "query");
  const most = field(form, "max_results");
  await expect(query).toHaveAttribute("aria-required", "true");
  await expect(most).toHaveAttribute("inputmode", "numeric");

  // A missing field is refused at the field.
  await query.fill("herons");
  await ask.getByRole("button", { name: "Start session" }).click();
  await expect(most).toHaveAttribute("aria-invalid", "true");
  await expect(most).toBeFocused();
  await most.fill("three");
  await ask.getByRole("button", { name: "Start session" }).click();
  await expect(most).toHaveAttribute("aria-invalid", "true");
  await most.fill("3");
  await ask.getByRole("button", { name: "Start session" }).click();
  await yourTurn(page);
  const asked = (await stage.events(sessionId(page))).find((event) => event.body.type === "user_message");
  const content = asked?.body.content as { parts: { text: string }[] } | undefined;
  expect(JSON.parse(content?.parts[0]?.text ?? "null")).toEqual({ query: "herons", max_results: 3 });

  // The final response is the output schema's form.
  await decide(page).getByRole("button", { name: "Give the final response" }).click();
  const final = decide(page).getByRole("group", { name: "Final response", exact: true });
  const answer = field(final, "answer");
  const confidence = field(final, "confidence");
  await expect(final.getByText("How sure you are, from 0 to 1")).toBeVisible();
  const send = decide(page).getByRole("button", { name: "Send final response" });
  await answer.fill("Herons stand on one leg.");
  await send.click();
  await expect(confidence).toHaveAttribute("aria-invalid", "true");
  await expect(confidence).toBeFocused();
  await confidence.fill("1.5");
  await send.click();
  await expect(confidence).toHaveAttribute("aria-invalid", "true");
  expect((await stage.get<{ status: string }>(`/v1/sessions/${sessionId(page)}`)).status).toBe("active");
  await confidence.fill("0.9");
  await send.click();
  await expect(golden(page)).toBeVisible();
  const response = entry(page, "Final response researcher");
  await expect(response).toContainText("Herons stand on one leg.");
  await expect(response).toContainText("0.9");
  const final_ = (await stage.events(sessionId(page))).find((event) => event.body.type === "final_response");
  const output = final_?.body.output;
  expect(typeof output === "string" ? JSON.parse(output) : output).toEqual({
    answer: "Herons stand on one leg.",
    confidence: 0.9,
  });
});
