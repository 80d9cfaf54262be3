//! Limits of time count the time that passes, whatever the machine's clock is set to.
#![cfg(target_os = "linux")]

use std::process::Command;

use crate::support::{Folder, Ran};

/// Sets the clock of a process an hour on when the process has run for half a second.
const JUMP: &str = r"
#define _GNU_SOURCE
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
static long ms(struct timespec t) { return t.tv_sec * 1000L + t.tv_nsec / 1000000L; }
int clock_gettime(clockid_t id, struct timespec *time) {
    static long first;
    struct timespec passed;
    int result = syscall(SYS_clock_gettime, id, time);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &passed);
    if (!first) first = ms(passed);
    if (id == CLOCK_REALTIME && ms(passed) - first >= 500) time->tv_sec += 3600;
    return result;
}
";

const SCENARIO: &str = "name: jump
description: d
environment: {type: local}
agent: {instructions: x, tools: [{name: wait, description: d}]}
models: {agent: {script: [{call: wait}, {call: wait}, done]}}
setup: {mocks: [{method: wait, response: 1, metadata: {delay: 500}}]}
run:
  - {input: hi, timeout_ms: 60000, evaluations: [{type: string_contains, value: done}, {type: execution_time, max_duration_ms: 60000}]}
judgment: {strategy: all_pass}
";

#[test]
fn setting_the_clock_ends_no_run() {
    let folder = Folder::new(&[("jump.c", JUMP), ("a.scenario.yaml", SCENARIO)]);
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o", "jump.so", "jump.c"]).current_dir(folder.path());
    assert!(compile.status().unwrap().success(), "what links the tests compiles this too");
    let mut run = folder.command("run a.scenario.yaml --no-store --timeout 60s");
    let ran = Ran::of(run.env("LD_PRELOAD", folder.path().join("jump.so")));
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}
