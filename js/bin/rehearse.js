#!/usr/bin/env node
// Runs the program of this system's package, which npm installed beside this one.
"use strict";

const { spawn } = require("node:child_process");
const { isatty } = require("node:tty");

const name = `@agent-rehearsal/${process.platform}-${process.arch}`;

function program() {
  try {
    return require.resolve(`${name}/bin/rehearse`);
  } catch {
    console.error(`error: the package ${name}, which has the program for this system, is not installed

hint: install agent-rehearsal without \`--omit=optional\`; where there is no such package, build from the source with cargo`);
    process.exit(2);
  }
}

const found = program();
const child = spawn(found, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: cannot run ${found}: ${error.message}`);
  process.exit(2);
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    // Ctrl-C at a terminal is heard by both; twice would mean "at once".
    if (!(isatty(0) && (signal === "SIGINT" || signal === "SIGQUIT"))) child.kill(signal);
  });
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 2);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
