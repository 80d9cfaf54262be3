//! `cargo xtask dist`: what people install without Rust, and without Node.js where they do not want it.

mod npm;
mod trial;
mod wheel;

use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::{Args, ValueEnum};
use serde_json::Value;

use self::trial::Trial;
use crate::child;
use crate::failure::Failure;
use crate::setup::{self, expect_success};
use crate::workspace::Workspace;

/// What people are told to check their download with.
const SUMS: &str = "SHA256SUMS";

/// Make what people install: an archive, a wheel, npm packages, checksums.
///
/// All of it goes into `dist` below cargo's target directory, for the system this runs on. Then each is installed
/// where nothing can be compiled, and there runs a first scenario and serves the page.
///
/// On Linux the program is linked statically: it runs on every distribution.
#[derive(Debug, Args)]
pub(crate) struct DistArgs {
    /// How the program is built; `dev` is quick, for a try
    #[arg(long, value_name = "PROFILE", default_value = "release")]
    profile: Profile,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    Release,
    Dev,
}

/// The program, and how cargo was told to build it.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) program: PathBuf,
    pub(crate) profile: Profile,
}

/// What was made: the files, and the folder that has nothing else.
#[derive(Debug)]
struct Made {
    folder: PathBuf,
    archive: PathBuf,
    wheel: PathBuf,
    packages: Vec<PathBuf>,
}

/// Runs the chore and says what it made.
pub(crate) fn run(workspace: &Workspace, args: &DistArgs) -> Result<ExitCode, Failure> {
    setup::install_packing(workspace)?;
    let built = Built { program: build(workspace, args.profile)?, profile: args.profile };
    check(workspace, &built)?;
    Ok(ExitCode::SUCCESS)
}

/// Packs the program in every form, and tries each; gives how many were tried.
pub(crate) fn check(workspace: &Workspace, built: &Built) -> Result<usize, Failure> {
    let made = make(workspace, built)?;
    let trial = Trial::new(workspace, version(workspace)?)?;
    let tried = [
        ("archive", trial.archive(&made.archive)?),
        ("wheel", trial.wheel(workspace, &made.wheel)?),
        ("npm packages", trial.npm(&made.packages)?),
    ];
    for (name, program) in &tried {
        trial
            .uses(program)
            .map_err(|failure| failure.of(&format!("the {name} of {}", made.folder.display())))?;
        println!("{name}: installed, ran a scenario, served the page");
    }
    expect_success(Command::new("sha256sum").args(["--check", "--quiet", SUMS]).current_dir(&made.folder))?;
    for file in setup::entries(&made.folder) {
        let size = fs::metadata(&file).map_or(0, |file| file.len());
        println!("{:>9} KiB  {}", size / 1024, file.display());
    }
    Ok(tried.len())
}

fn make(workspace: &Workspace, built: &Built) -> Result<Made, Failure> {
    let folder = workspace.target.join("dist");
    setup::remove(&folder)?;
    fs::create_dir_all(&folder).map_err(|error| cannot(&folder, &error))?;
    let version = version(workspace)?;
    let made = Made {
        archive: archive(workspace, built, &version, &folder)?,
        wheel: wheel::make(workspace, built, &folder)?,
        packages: npm::make(workspace, built, &version, &folder)?,
        folder,
    };
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&made.folder)
        .args(setup::entries(&made.folder).iter().filter_map(|file| file.file_name()));
    setup::write(&made.folder.join(SUMS), &child::read(&mut sums)?)?;
    Ok(made)
}

/// The program and what is to be read beside it, in one folder.
fn archive(workspace: &Workspace, built: &Built, version: &str, to: &Path) -> Result<PathBuf, Failure> {
    let name = format!("rehearse-{version}-{}", host()?);
    let work = workspace.target.join("xtask/archive");
    setup::remove(&work)?;
    let folder = work.join(&name);
    for (from, to) in [
        (built.program.clone(), "rehearse"),
        (workspace.root.join("README.md"), "README.md"),
        (workspace.root.join("LICENSE"), "LICENSE"),
        (workspace.root.join("CHANGELOG.md"), "CHANGELOG.md"),
    ] {
        copy(&from, &folder.join(to))?;
    }
    let archive = to.join(format!("{name}.tar.gz"));
    expect_success(Command::new("tar").arg("-czf").arg(&archive).arg("-C").arg(&work).arg(&name))?;
    Ok(archive)
}

/// Builds the program with all that it can do.
fn build(workspace: &Workspace, profile: Profile) -> Result<PathBuf, Failure> {
    let mut cargo = child::cargo();
    cargo.current_dir(&workspace.root);
    cargo.args(["build", "--locked", "--package", "rehearsal-cli", "--bin", "rehearse"]);
    cargo.args(["--features", crate::test::RELEASED]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    for_release(&mut cargo, profile)?;
    // What the compiler has to say is for people, as it comes.
    let messages = child::read(cargo.stderr(Stdio::inherit()))?;
    let program = messages.lines().find_map(crate::test::executable);
    program.ok_or_else(|| Failure::new("cargo built no `rehearse`"))
}

/// How cargo builds what people get: for the system by name, so that build scripts are not linked statically too.
fn for_release(command: &mut Command, profile: Profile) -> Result<(), Failure> {
    if profile == Profile::Dev {
        return Ok(());
    }
    let host = host()?;
    command.args(["--profile", crate::bench::PROFILE, "--target", &host]);
    if OS == "linux" {
        let flags = format!("CARGO_TARGET_{}_RUSTFLAGS", host.to_uppercase().replace('-', "_"));
        command.env(flags, "-C target-feature=+crt-static");
    }
    Ok(())
}

/// The system this runs on, as Rust calls it.
fn host() -> Result<String, Failure> {
    let said = child::read(Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("rustc does not say which system this is"))
}

/// The system this runs on, as Node.js calls it.
fn node_system() -> Result<(&'static str, &'static str), Failure> {
    let os = if OS == "macos" { "darwin" } else { OS };
    match ARCH {
        "x86_64" => Ok((os, "x64")),
        "aarch64" => Ok((os, "arm64")),
        other => Err(Failure::new(format!("there is no npm package for processors of the kind {other}"))),
    }
}

/// The one number that everything has.
fn version(workspace: &Workspace) -> Result<String, Failure> {
    let found = workspace.packages.iter().find(|package| package.name == "rehearsal-cli");
    found.map(|package| package.version.clone()).ok_or_else(|| Failure::new("there is no `rehearsal-cli`"))
}

fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    let made = to.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::copy(from, to).map(|_| ())).map_err(|error| cannot(to, &error))
}

fn cannot(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot write `{}`: {error}", path.display()))
}

/// A `package.json`, to be filled in.
fn read_json(path: &Path) -> Result<Value, Failure> {
    #[expect(clippy::disallowed_methods, reason = "a package of npm has no large numbers")]
    serde_json::from_str(&setup::read(path)?)
        .map_err(|error| Failure::new(format!("`{}`: {error}", path.display())))
}
