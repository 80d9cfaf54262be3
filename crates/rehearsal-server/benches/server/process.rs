//! Servers in processes of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// A process that ends when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// What it has in memory now, in KiB.
    pub(crate) fn memory(&self) -> f64 {
        let path = format!("/proc/{}/status", self.0.id());
        let status =
            fs::read_to_string(path).expect("the server runs, and this benchmark reads Linux's /proc");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel counts it");
        line.trim_end_matches("kB").trim().parse().expect("the kernel writes numbers")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// What the server's callers show.
pub(crate) const TOKEN: &str = "a-token-for-the-benchmark-alone";

/// `rehearse serve` on a store.
pub(crate) struct Rehearse {
    pub(crate) process: Process,
    pub(crate) url: String,
    pub(crate) grpc: String,
    // Kept open, so that the server can say more.
    _output: BufReader<ChildStdout>,
}

impl Rehearse {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut command = Command::new(binary());
        command
            .current_dir(folder)
            .args(["serve", "--port", "0", "--grpc-port", "0", "--store", "store.db"])
            .env("REHEARSAL_TOKEN", TOKEN)
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let mut output = BufReader::new(process.0.stdout.take().expect("its output is piped"));
        let mut after = |mark: &str| loop {
            let mut line = String::new();
            let read = output.read_line(&mut line).expect("the server says where it listens");
            assert!(read > 0, "the server ended before it said `{mark}`");
            if let Some((_, rest)) = line.split_once(mark) {
                return rest.split_whitespace().next().unwrap_or_default().trim_end_matches(':').to_owned();
            }
        };
        let url = after("listens on ");
        let grpc = after("gRPC without a token on ");
        Self { process, url, grpc, _output: output }
    }
}

/// The binary beside this benchmark, built now so that it is not an older one.
fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(cargo) = std::env::var_os("CARGO") {
            let args = ["build", "--quiet", "--release", "--locked", "--package", "rehearsal-cli"];
            let status = Command::new(cargo).args(args).status().expect("cargo can be started");
            assert!(status.success(), "`rehearse` cannot be built");
        }
        let here = std::env::current_exe().expect("the benchmark knows where it is");
        let release =
            here.parent().and_then(Path::parent).expect("cargo keeps benchmarks in a folder of its own");
        let binary = release.join("rehearse");
        assert!(binary.exists(), "{} is not there; build it with `cargo build --release`", binary.display());
        binary
    })
}
