//! Many conversations against a model server, beside a bare client that makes the same calls.
//!
//! One conversation has three turns of a simulated user, an agent with one mocked tool, a string check and a judge: eight
//! model calls. The model server is a process of its own, whose time is not counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::meter::{self, Taken, median_of};
use crate::server::{Server, Serving};

/// How many conversations are held where nobody says more.
const FEW: usize = 200;
/// How many are held in the large measurement.
const MANY: usize = 20_000;
/// How many run side by side, in both programs.
const JOBS: usize = 200;
/// How often each of two programs runs, one after the other in turns.
const ROUNDS: usize = 9;
/// How long the model takes where it is slow, in milliseconds.
const SLOW: u64 = 200;

const SCENARIO: &str = "\
name: Conversation
description: Three turns of a simulated user, one mocked tool, one string check, one judge
environment: {type: local}
agent:
  instructions: You are a support agent for an online shop. Look up orders before you answer.
  tools:
    - name: look_up
      description: Looks up an order
      parameters: {type: object, properties: {order: {type: string}}, required: [order]}
models:
  agent: openai-compatible:agent@BASE_URL
  user: openai-compatible:user@BASE_URL
  judge: openai-compatible:judge@BASE_URL
setup:
  mocks:
    - {method: look_up, response: {order: A1, status: shipped, eta: Tuesday}}
run:
  - conversation:
      max_turns: 3
      user_simulator:
        persona: a customer who asks about order A1
        objective: find out where order A1 is
    evaluations:
      - {type: string_contains, value: shipped}
      - {type: llm_judge, prompt: Did the agent say that order A1 has shipped?, expected: 'yes'}
judgment: {strategy: all_pass}
";

/// What is measured.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    /// A few conversations.
    Few,
    /// So many, beside a few.
    Many(usize),
}

impl Size {
    /// The size that these words ask for.
    pub(crate) fn of(args: &[&str]) -> Option<Self> {
        match args {
            [] => Some(Self::Few),
            ["--full"] => Some(Self::Many(MANY)),
            [count] => count.parse().ok().filter(|count| *count > 0).map(Self::Many),
            _ => None,
        }
    }
}

/// Whether a run is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Store {
    Kept,
    Nowhere,
}

/// A model server, and a folder with a scenario for it.
struct Bench {
    folder: TempDir,
    server: Server,
}

impl Bench {
    fn new(serving: Serving) -> Self {
        let (folder, server) = (tempfile::tempdir().expect("a folder can be made"), Server::start(serving));
        let scenario = SCENARIO.replace("BASE_URL", &server.base_url);
        fs::write(folder.path().join("w1.scenario.yaml"), scenario).expect("a file can be written");
        Self { folder, server }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join(".rehearsal")
    }

    fn bare(&self, conversations: usize) -> Taken {
        let program = std::env::current_exe().expect("the benchmark knows where it is");
        let (conversations, jobs) = (conversations.to_string(), JOBS.to_string());
        meter::run(Command::new(program).args(["bare", &self.server.base_url, &conversations, &jobs]))
    }

    /// Each run begins with an empty store.
    fn rehearse(&self, conversations: usize, store: Store) -> Taken {
        fs::remove_dir_all(self.store()).ok();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehearse"));
        let (conversations, jobs) = (conversations.to_string(), JOBS.to_string());
        command.current_dir(self.folder.path());
        command.args(["run", "w1.scenario.yaml", "--repeat", &conversations, "--jobs", &jobs]);
        command.args(["--json", "out.json"]);
        if store == Store::Nowhere {
            command.arg("--no-store");
        }
        meter::run(&mut command)
    }

    /// What the store takes on the disk for each of so many conversations, in bytes.
    fn bytes_each(&self, conversations: usize) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a store is not that large")]
        let bytes = size_of_folder(&self.store()) as f64;
        bytes / float(conversations)
    }
}

/// What conversations took, as the middle of several runs.
struct Figures {
    bare: Taken,
    nowhere: Taken,
    kept: Taken,
    bytes: f64,
}

pub(crate) fn measure(size: Size) {
    let bench = Bench::new(Serving::default());
    let few = figures(&bench, FEW, ROUNDS);
    print(FEW, &few);
    let many = match size {
        Size::Few => None,
        Size::Many(count) => {
            let many = figures(&bench, count, 1);
            print(count, &many);
            let times = float(count) / float(FEW);
            let linear = |many: Taken, few: Taken| many.cpu / (few.cpu * times);
            println!(
                "  to {times:.0} times the CPU of {FEW} {:8.2}        without the store (aim: from 0.85 to 1.15)",
                linear(many.nowhere, few.nowhere)
            );
            println!("{:29} {:8.2}        with it", "", linear(many.kept, few.kept));
            Some(count)
        }
    };
    drop(bench);
    varied(many.unwrap_or(FEW));
    slow();
}

fn figures(bench: &Bench, conversations: usize, rounds: usize) -> Figures {
    let (mut bare, mut nowhere, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(bench.bare(conversations));
        nowhere.push(bench.rehearse(conversations, Store::Nowhere));
        kept.push(bench.rehearse(conversations, Store::Kept));
    }
    let bytes = bench.bytes_each(conversations);
    Figures { bare: median_of(bare), nowhere: median_of(nowhere), kept: median_of(kept), bytes }
}

fn print(conversations: usize, figures: &Figures) {
    let Figures { bare, nowhere, kept, bytes } = figures;
    println!(
        "conversations: {conversations} of 3 turns (8 model calls each), {JOBS} side by side, against a loopback server"
    );
    let line = |what: &str, taken: &Taken| {
        println!(
            "  {what:<27} {:8.3} s CPU  {:8.3} s  {:6.1} MB",
            taken.cpu,
            taken.wall.as_secs_f64(),
            taken.peak
        );
    };
    line("bare client", bare);
    line("rehearse run --no-store", nowhere);
    line("rehearse run", kept);
    println!(
        "  CPU without the store       {:8.2}        (aim: at most 3 times the bare client)",
        nowhere.cpu / bare.cpu
    );
    println!("  CPU with the store          {:8.2}        (aim: at most 4 times)", kept.cpu / bare.cpu);
    let writing = (kept.cpu - nowhere.cpu) / float(conversations) * 1e6;
    println!("  to write one                {writing:8.0} µs CPU (aim: at most 150)");
    println!("  peak of memory              {:8.1} MB     (aim: under 96)", kept.peak.max(nowhere.peak));
    println!("  on the disk, each           {bytes:8.0} bytes  (aim: at most 2048)");
}

/// A mock gives the same texts again and again, which can be kept in little room.
fn varied(conversations: usize) {
    let bench = Bench::new(Serving { varied: true, ..Serving::default() });
    bench.rehearse(conversations, Store::Kept);
    println!(
        "  the same, texts that vary   {:8.0} bytes  (aim: at most 6144)",
        bench.bytes_each(conversations)
    );
}

fn slow() {
    let bench = Bench::new(Serving { latency_ms: SLOW, ..Serving::default() });
    let (mut bare, mut kept) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        bare.push(bench.bare(FEW));
        kept.push(bench.rehearse(FEW, Store::Kept));
    }
    let (bare, kept) = (median_of(bare).wall.as_secs_f64(), median_of(kept).wall.as_secs_f64());
    println!("a model that takes {SLOW} ms, {FEW} conversations at once");
    println!("  bare client                 {bare:8.3} s");
    println!("  rehearse run                {kept:8.3} s");
    println!("  ratio                       {:8.2}        (aim: at most 1.05)", kept / bare);
}

fn size_of_folder(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => size_of_folder(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(of).sum()
}

#[expect(clippy::cast_precision_loss, reason = "numbers of conversations are small")]
fn float(count: usize) -> f64 {
    count as f64
}
