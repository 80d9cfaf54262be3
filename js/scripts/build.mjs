// Compiles src/ into dist/. A `.ts` file becomes CommonJS and a `.mts` file an ES module: the library itself is there
// once, as CommonJS, and what `import` gives is the same classes and functions.
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = join(dirname(fileURLToPath(import.meta.url)), "..");
const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");

rmSync(join(here, "dist"), { recursive: true, force: true });
execFileSync(process.execPath, [tsc, "--project", join(here, "tsconfig.build.json")], { stdio: "inherit" });
