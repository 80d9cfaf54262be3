// Packs the package as npm would publish it, once for all tests.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder with what was packed. */
    packed: string;
  }
}

export default function setup(project: TestProject): () => void {
  const program = process.env.REHEARSAL_BIN ?? "";
  if (!existsSync(program)) {
    throw new Error(`REHEARSAL_BIN has to name the \`rehearse\` to test, and names \`${program}\``);
  }
  const folder = mkdtempSync(join(tmpdir(), "packed-"));
  const options = ["--silent", "--ignore-scripts", "--no-update-notifier", "--pack-destination", folder];
  execFileSync("npm", ["pack", ...options], {
    cwd: project.config.root,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [archive = ""] = readdirSync(folder);
  execFileSync("tar", ["-xzf", join(folder, archive), "-C", folder]);
  project.provide("packed", join(folder, "package"));
  return () => rmSync(folder, { recursive: true });
}
