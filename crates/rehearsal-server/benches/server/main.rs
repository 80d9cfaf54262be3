//! How fast the server is, how soon an answer arrives and what waiting costs: `cargo xtask bench server`.
//!
//! The machine may be shared and noisy, so nothing here is a test: each figure stands beside what it should be
//! compared with, measured in the same run. The server is the real `rehearse serve` in a process of its own; those who
//! wait and those who answer are here.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::process::ExitCode;

mod appends;
mod asked;
mod figures;
mod http;
mod machine;
mod process;
mod published;
mod waiting;
mod wire;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime can be built");
    let all = args.is_empty();
    if let Some(unknown) = args.iter().find(|arg| !["appends", "http", "grpc", "published"].contains(arg)) {
        println!("there is no measurement `{unknown}`; there are: appends, http, grpc, published");
        return ExitCode::from(2);
    }
    machine::print();
    runtime.block_on(async {
        let chosen = |name| all || args.contains(&name);
        if chosen("appends") {
            appends::measure().await;
        }
        if chosen("http") {
            http::measure().await;
        }
        if chosen("grpc") {
            wire::measure().await;
        }
        if chosen("published") {
            published::measure().await;
        }
    });
    ExitCode::SUCCESS
}
