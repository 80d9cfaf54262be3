//! How long `rehearse` takes to start.

use std::fs;
use std::process::Command;

use crate::meter::{self, median};

const ROUNDS: usize = 40;

const ONE_CASE: &str = "\
name: Says hello
description: One turn of a scripted agent
environment: {type: local}
agent: {instructions: Greet.}
models: {agent: {script: [Hello there]}}
run:
  - input: hi
    evaluations: [{type: string_contains, value: hello}]
judgment: {strategy: all_pass}
";

pub(crate) fn measure() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("one.scenario.yaml"), ONE_CASE).expect("a file can be written");
    let rehearse = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
        command.current_dir(folder.path());
        command
    };
    let nothing = times(|| Command::new("true"));
    let version = times(|| {
        let mut command = rehearse();
        command.arg("--version");
        command
    });
    let one = times(|| {
        let mut command = rehearse();
        command.args(["run", "one.scenario.yaml", "--quiet", "--out", "out"]);
        command
    });
    println!("start: the middle of {ROUNDS} starts");
    println!("  `true`, for comparison  {nothing:8.1} ms");
    println!("  rehearse --version      {version:8.1} ms   (aim: under 20)");
    println!("  rehearse run, one case  {one:8.1} ms   (aim: under 20)");
}

fn times(command: impl Fn() -> Command) -> f64 {
    let walls = (0..ROUNDS).map(|_| meter::run(&mut command()).wall).collect();
    median(walls).as_secs_f64() * 1000.0
}
