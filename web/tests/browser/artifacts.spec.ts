import { readFile } from "node:fs/promises";
import { expect, test } from "./fixtures";
import { call, entry, start } from "./session";

test("artifacts are shown as what they are, with their versions and their events", async ({
  page,
  stage,
}) => {
  const session = await start(page, "painter", "an exhibition");
  await call(page, "exhibit", { title: "First" });
  await call(page, "exhibit", { title: "Second" });

  const panel = page.getByRole("list", { name: "Artifacts" });
  const artifact = (name: string) => panel.getByRole("listitem").filter({ hasText: name });
  await expect(panel.getByRole("heading")).toHaveText([
    "picture.png",
    "sound.wav",
    "user:notes.md",
    "long.csv",
    "page.html",
    "data.bin",
    "film.mp4",
  ]);
  const picture = artifact("picture.png").getByRole("img");
  await expect.poll(() => picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1);
  await expect(artifact("sound.wav").locator("audio")).toHaveAttribute("src", /^data:audio\/wav;base64,/);
  await expect(artifact("user:notes.md")).toContainText("version 1, text/plain, 8 bytes");
  await expect(artifact("user:notes.md")).toContainText("# Second");
  await artifact("user:notes.md").getByText("1 earlier version").click();
  await expect(artifact("user:notes.md")).toContainText("# First");

  // A text that the list of events has in part is read whole.
  await expect(artifact("long.csv")).toContainText("version 1, text/csv, 195 kB");
  await artifact("long.csv").getByText("The text of long.csv, version 1").click();
  await expect(artifact("long.csv")).toContainText("first");
  await artifact("long.csv")
    .getByRole("button", { name: /show 50,000 of/ })
    .click();
  await artifact("long.csv")
    .getByRole("button", { name: /show 50,000 of/ })
    .click();
  await artifact("long.csv")
    .getByRole("button", { name: /show 50,000 of/ })
    .click();
  await artifact("long.csv")
    .getByRole("button", { name: /show the last/ })
    .click();
  await expect(artifact("long.csv")).toContainText("last");

  // What a page could run is text, what cannot be shown is downloaded, what is not kept says so.
  await expect(artifact("page.html")).toContainText("<script>window.owned = true</script>");
  expect(await page.evaluate(() => "owned" in window)).toBe(false);
  const downloading = page.waitForEvent("download");
  await artifact("data.bin").getByRole("button", { name: "Download data.bin" }).click();
  const file = await (await downloading).path();
  expect(await readFile(file)).toEqual(Buffer.alloc(300));
  await expect(artifact("film.mp4")).toContainText("video/mp4, 2,048 kB");
  await expect(artifact("film.mp4")).toContainText("The content is not kept here: only artifacts of at most");

  // The way to the event, which shows the same.
  const told = (await stage.events(session)).findLast(
    ({ body }) => body.type === "artifact_saved" && body.name === "picture.png",
  );
  await artifact("picture.png")
    .getByRole("link", { name: `#${told?.seq}` })
    .first()
    .click();
  const card = page.locator(`#e${told?.seq}`);
  await expect(card).toBeInViewport();
  await card.getByRole("button", { name: /Artifact saved picture.png/ }).click();
  await expect(card.getByRole("img", { name: /picture.png, version 1/ })).toBeVisible();
  await expect(entry(page, "Artifact saved sound.wav").first()).toBeVisible();
});
