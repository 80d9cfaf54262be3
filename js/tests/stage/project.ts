import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { folder } from "./refund.js";

const ROOT = join(__dirname, "../..");

/** A folder in which this package is installed as npm would, and beside it what tests need. */
export function project(name?: string): string {
  const here = folder();
  const modules = join(here, "node_modules");
  mkdirSync(modules);
  for (const each of readdirSync(join(ROOT, "node_modules"))) {
    if (!each.startsWith(".")) symlinkSync(join(ROOT, "node_modules", each), join(modules, each));
  }
  cpSync(inject("packed"), join(modules, "agent-rehearsal"), { recursive: true });
  writeFileSync(join(here, "package.json"), '{ "private": true }\n');
  if (name !== undefined) {
    cpSync(join(ROOT, "tests/projects", name), here, { recursive: true });
    cpSync(join(ROOT, "tests/projects/refund.scenario.yaml"), join(here, "refund.scenario.yaml"));
  }
  return here;
}

/** A program of a package, for Node.js. */
export function tool(path: string): string {
  const found = join(ROOT, "node_modules", path);
  if (!existsSync(found)) throw new Error(`there is no ${found}: npm ci`);
  return found;
}
