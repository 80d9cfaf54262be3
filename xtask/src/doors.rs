//! `cargo xtask doors`: which crate may use which, and inside the large crates, which module.
//!
//! The crates are rooms, and a dependency is a door. Doors open downward only: what a room may use, and what
//! those may use in turn, it may depend on directly; nothing else. Modules of a large room have walls between them, which
//! are looked for in its source files. This file is the table; ARCHITECTURE.md says why.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;

use modules::{Breach, Elsewhere, Source, Wall};

use crate::failure::Failure;
use crate::workspace::{Dependency, DependencyKind, Package, Workspace};

mod modules;
mod tests_named;

/// Each room with the rooms just below it.
const ROOMS: &[(&str, &[&str])] = &[
    (
        "rehearsal-cli",
        &[
            "rehearsal",
            "rehearsal-server",
            "rehearsal-run",
            "rehearsal-scenario",
            "rehearsal-store",
            "rehearsal-adk",
            "rehearsal-exchange",
            "rehearsal-models",
            "rehearsal-sim",
        ],
    ),
    ("rehearsal-server", &["rehearsal-web", "rehearsal-store", "rehearsal-adk", "rehearsal-sim"]),
    ("rehearsal-run", &["rehearsal-sim", "rehearsal-store"]),
    ("rehearsal-scenario", &["rehearsal-sim", "rehearsal-metrics", "rehearsal-world", "rehearsal-js"]),
    ("rehearsal-world", &["rehearsal-agent", "rehearsal-js"]),
    ("rehearsal-js", &["rehearsal-core"]),
    ("rehearsal-adk", &["rehearsal-sim", "rehearsal-metrics"]),
    ("rehearsal-exchange", &["rehearsal-core"]),
    ("rehearsal-sim", &["rehearsal-agent", "rehearsal-metrics"]),
    ("rehearsal-models", &["rehearsal-agent"]),
    ("rehearsal-agent", &["rehearsal-core"]),
    ("rehearsal-metrics", &["rehearsal-core", "rehearsal-js"]),
    ("rehearsal-store", &["rehearsal-core"]),
    ("rehearsal-core", &["rehearsal-schema"]),
    ("rehearsal-schema", &[]),
    ("rehearsal-web", &[]),
    // The library people depend on: everything but the program and its server.
    (
        "rehearsal",
        &[
            "rehearsal-scenario",
            "rehearsal-adk",
            "rehearsal-models",
            "rehearsal-sim",
            "rehearsal-store",
            "rehearsal-web",
        ],
    ),
    // For tests only. It stands above what it helps to test, and no room below opens to it.
    ("rehearsal-testkit", &["rehearsal", "rehearsal-server"]),
    ("xtask", &[]),
];

/// Programs: not even a test may depend on them.
const PROGRAMS: &[&str] = &["rehearsal-cli", "xtask"];

/// Libraries from outside that belong to certain rooms, and what that keeps true.
const RESERVED: &[(&str, &[&str], &str)] = &[
    ("rusqlite", &["rehearsal-store"], "only the store opens a database"),
    ("tokio-postgres", &["rehearsal-store"], "only the store opens a database"),
    (
        "jsonschema",
        &["rehearsal-schema"],
        "its generic code is compiled in one room, not in each that names it",
    ),
    (
        "reqwest",
        &["rehearsal-models", "rehearsal-world", "rehearsal-scenario", "rehearsal-server", "rehearsal-cli"],
        "only rooms that call out to others (models, agents, servers) open a socket",
    ),
];

/// What a room never depends on, and what that keeps true.
const NEVER: &[(&str, &[&str], &str)] = &[
    ("rehearsal-core", &["tokio", "reqwest", "async-trait"], "core does no I/O and nothing async"),
    (
        "rehearsal-metrics",
        &["rehearsal-agent", "tokio"],
        "metrics know no runtime, so that they score old ledgers too",
    ),
];

/// What modules of a large room never use, and what that keeps true.
const WALLS: &[Wall] = &[
    Wall {
        room: "rehearsal-server",
        modules: &["desk", "history", "ids", "presence", "problem", "stream", "watch"],
        never: &["crate::adksim", "crate::http", "crate::serve", "axum", "hyper", "prost", "tonic"],
        why: "the desk and what it stands on know no wire",
    },
    Wall {
        room: "rehearsal-server",
        modules: &["adksim"],
        never: &["crate::http", "crate::serve"],
        why: "the published protocol is a wire of its own",
    },
    Wall {
        room: "rehearsal-server",
        modules: &["http"],
        never: &["crate::adksim", "crate::serve"],
        why: "the published protocol is a wire of its own",
    },
    Wall {
        room: "rehearsal-server",
        modules: &[
            "adksim::base64",
            "adksim::convert",
            "adksim::derive",
            "adksim::json",
            "adksim::part",
            "adksim::port",
            "adksim::schema",
        ],
        never: &["crate::adksim::service", "crate::stream", "axum", "hyper", "tokio", "tonic"],
        why: "what a payload means is read without a socket",
    },
];

/// Traits that a room never implements, and what that keeps true.
const ELSEWHERE: &[Elsewhere] = &[Elsewhere {
    room: "rehearsal-scenario",
    name: "Metric",
    why: "there is one set of metrics, in crates/rehearsal-metrics",
}];

/// Prints the violations, or that there are none.
///
/// # Errors
/// Source files cannot be read.
pub(crate) fn run(workspace: &Workspace) -> Result<ExitCode, Failure> {
    let violations = check(&workspace.packages);
    let breaches = check_modules(workspace)?;
    let untested = check_tests(workspace)?;
    if violations.is_empty() && breaches.is_empty() && untested.is_empty() {
        println!("doors: all {} crates keep them", workspace.packages.len());
        return Ok(ExitCode::SUCCESS);
    }
    for violation in &violations {
        eprintln!("{violation}\n");
    }
    for breach in &breaches {
        eprintln!("{breach}\n");
    }
    for file in &untested {
        eprintln!(
            "error: nothing runs the tests of {}\n\nhint: name it in the program of the crate's tests (`all`)\n",
            file.display()
        );
    }
    println!("doors: {} violations", violations.len() + breaches.len() + untested.len());
    Ok(ExitCode::FAILURE)
}

fn check_tests(workspace: &Workspace) -> Result<Vec<PathBuf>, Failure> {
    let mut untested = Vec::new();
    for package in &workspace.packages {
        let tests = workspace.root.join(package.manifest.with_file_name("tests"));
        let found = tests_named::left_out(&tests);
        untested.extend(found.map_err(|error| Failure::new(format!("{}: {error}", tests.display())))?);
    }
    Ok(untested)
}

fn check_modules(workspace: &Workspace) -> Result<Vec<Breach>, Failure> {
    let mut breaches = Vec::new();
    let walled: BTreeSet<&str> =
        WALLS.iter().map(|wall| wall.room).chain(ELSEWHERE.iter().map(|rule| rule.room)).collect();
    for room in walled {
        let package = workspace.packages.iter().find(|package| package.name == room);
        let package = package.ok_or_else(|| Failure::new(format!("there is no crate `{room}`")))?;
        let src = package.manifest.with_file_name("src");
        let sources = Source::all(&workspace.root, &src)
            .map_err(|error| Failure::new(format!("{}: {error}", src.display())))?;
        breaches.extend(modules::check(WALLS, ELSEWHERE, room, &sources));
    }
    Ok(breaches)
}

/// A dependency, or a crate, that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    room: String,
    manifest: PathBuf,
    rule: Rule,
}

#[derive(Debug, PartialEq, Eq)]
enum Rule {
    UnknownRoom,
    NotBelow { dependency: String },
    Program { dependency: String },
    Reserved { dependency: String, rooms: &'static [&'static str], why: &'static str },
    Never { dependency: String, why: &'static str },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { room, manifest, rule } = self;
        let manifest = manifest.display();
        match rule {
            Rule::UnknownRoom => write!(
                f,
                "error: crate `{room}` has no place among the rooms\n\n\
                 hint: add it to the table ROOMS in xtask/src/doors.rs, with the rooms just below it"
            ),
            Rule::NotBelow { dependency } => write!(
                f,
                "error: `{room}` depends on `{dependency}`, which is not below it\n\n\
                 hint: remove `{dependency}` from {manifest} and move what both need to a room below both; \
                 for tests alone, put it under [dev-dependencies]"
            ),
            Rule::Program { dependency } => write!(
                f,
                "error: `{room}` depends on `{dependency}`, which is a program\n\n\
                 hint: remove `{dependency}` from {manifest} and move what `{room}` needs to a library"
            ),
            Rule::Reserved { dependency, rooms, why } => write!(
                f,
                "error: `{room}` depends on `{dependency}`, but {why}\n\n\
                 hint: remove `{dependency}` from {manifest} and do this in {}",
                rooms.join(" or ")
            ),
            Rule::Never { dependency, why } => write!(
                f,
                "error: `{room}` depends on `{dependency}`, but {why}\n\n\
                 hint: remove `{dependency}` from {manifest} and do this in a room above"
            ),
        }
    }
}

fn check(packages: &[Package]) -> Vec<Violation> {
    packages.iter().flat_map(check_room).collect()
}

fn check_room(package: &Package) -> Vec<Violation> {
    let violation = |rule| Violation { room: package.name.clone(), manifest: package.manifest.clone(), rule };
    if !is_room(&package.name) {
        return vec![violation(Rule::UnknownRoom)];
    }
    let below = below(&package.name);
    package
        .dependencies
        .iter()
        .filter_map(|each| broken_rule(&package.name, &below, each))
        .map(violation)
        .collect()
}

fn broken_rule(room: &str, below: &BTreeSet<&str>, dependency: &Dependency) -> Option<Rule> {
    let name = dependency.name.as_str();
    if PROGRAMS.contains(&name) {
        return Some(Rule::Program { dependency: name.to_owned() });
    }
    // What only tests use is not in what people build; a room may be tested with those above it.
    if dependency.kind == DependencyKind::Dev {
        return None;
    }
    if let Some((.., why)) = NEVER.iter().find(|(of, names, _)| *of == room && names.contains(&name)) {
        return Some(Rule::Never { dependency: name.to_owned(), why });
    }
    if let Some((_, rooms, why)) =
        RESERVED.iter().find(|(of, rooms, _)| *of == name && !rooms.contains(&room))
    {
        return Some(Rule::Reserved { dependency: name.to_owned(), rooms, why });
    }
    (is_room(name) && !below.contains(name)).then(|| Rule::NotBelow { dependency: name.to_owned() })
}

fn is_room(name: &str) -> bool {
    ROOMS.iter().any(|(room, _)| *room == name)
}

/// All rooms that can be reached from a room through open doors.
fn below(room: &str) -> BTreeSet<&'static str> {
    let mut reached = BTreeSet::new();
    let mut open = just_below(room).to_vec();
    while let Some(room) = open.pop() {
        if reached.insert(room) {
            open.extend(just_below(room));
        }
    }
    reached
}

fn just_below(room: &str) -> &'static [&'static str] {
    ROOMS.iter().find(|(name, _)| *name == room).map_or(&[], |(_, doors)| doors)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line of `graph` is a crate and what it depends on: `a: b, dev c`. Each violation is shown as
    /// `crate -> dependency`, or as the crate alone where it is unknown.
    #[track_caller]
    fn check_graph(graph: &str, expected: &[&str]) {
        let packages: Vec<Package> = graph.lines().map(package).collect();
        let found: Vec<String> = check(&packages)
            .into_iter()
            .map(|Violation { room, rule, .. }| match rule {
                Rule::UnknownRoom => room,
                Rule::NotBelow { dependency }
                | Rule::Program { dependency }
                | Rule::Reserved { dependency, .. }
                | Rule::Never { dependency, .. } => format!("{room} -> {dependency}"),
            })
            .collect();
        assert_eq!(found, expected);
    }

    fn package(line: &str) -> Package {
        let (name, dependencies) = line.trim().split_once(':').unwrap();
        let dependencies = dependencies.split(',').map(str::trim).filter(|each| !each.is_empty());
        Package {
            name: name.to_owned(),
            version: "0.1.0".to_owned(),
            manifest: PathBuf::from(format!("crates/{name}/Cargo.toml")),
            dependencies: dependencies
                .map(|each| match each.split_once(' ') {
                    None => Dependency { name: each.to_owned(), kind: DependencyKind::Normal },
                    Some(("dev", name)) => Dependency { name: name.to_owned(), kind: DependencyKind::Dev },
                    Some(("build", name)) => {
                        Dependency { name: name.to_owned(), kind: DependencyKind::Build }
                    }
                    Some((kind, _)) => panic!("unknown kind {kind}"),
                })
                .collect(),
        }
    }

    #[test]
    fn downward_doors_are_open_also_past_a_floor() {
        check_graph(
            "rehearsal-core: serde
             rehearsal-agent: rehearsal-core, async-trait, tokio
             rehearsal-metrics: rehearsal-core
             rehearsal-sim: rehearsal-agent, rehearsal-metrics, rehearsal-core
             rehearsal-models: rehearsal-agent, rehearsal-core, reqwest
             rehearsal-store: rehearsal-core, rusqlite
             rehearsal-cli: rehearsal-server, rehearsal-web, rehearsal-metrics
             rehearsal: rehearsal-scenario, rehearsal-store, rehearsal-core
             rehearsal-testkit: rehearsal, rehearsal-server, rehearsal-core
             xtask: clap",
            &[],
        );
    }

    #[test]
    fn upward_and_sideways_doors_are_shut() {
        check_graph(
            "rehearsal-core: rehearsal-agent
             rehearsal-agent: build rehearsal-sim
             rehearsal-scenario: rehearsal-server
             rehearsal-server: rehearsal-scenario, rehearsal-models
             rehearsal-sim: rehearsal
             rehearsal: rehearsal-server",
            &[
                "rehearsal-core -> rehearsal-agent",
                "rehearsal-agent -> rehearsal-sim",
                "rehearsal-scenario -> rehearsal-server",
                "rehearsal-server -> rehearsal-scenario",
                "rehearsal-server -> rehearsal-models",
                "rehearsal-sim -> rehearsal",
                "rehearsal -> rehearsal-server",
            ],
        );
    }

    #[test]
    fn tests_may_use_any_room_but_a_program() {
        check_graph(
            "rehearsal-core: dev rehearsal-testkit, dev tokio
             rehearsal-sim: dev rehearsal-models
             rehearsal-agent: rehearsal-testkit
             rehearsal-server: dev rehearsal-cli
             rehearsal-testkit: rehearsal-cli
             rehearsal-models: dev xtask",
            &[
                "rehearsal-agent -> rehearsal-testkit",
                "rehearsal-server -> rehearsal-cli",
                "rehearsal-testkit -> rehearsal-cli",
                "rehearsal-models -> xtask",
            ],
        );
    }

    #[test]
    fn libraries_stay_in_the_rooms_they_belong_to() {
        check_graph(
            "rehearsal-sim: rusqlite, reqwest
             rehearsal-core: tokio, reqwest, async-trait
             rehearsal-metrics: rehearsal-agent, tokio",
            &[
                "rehearsal-sim -> rusqlite",
                "rehearsal-sim -> reqwest",
                "rehearsal-core -> tokio",
                "rehearsal-core -> reqwest",
                "rehearsal-core -> async-trait",
                "rehearsal-metrics -> rehearsal-agent",
                "rehearsal-metrics -> tokio",
            ],
        );
    }

    #[test]
    fn an_unknown_crate_is_refused() {
        check_graph("rehearsal-attic: rehearsal-core", &["rehearsal-attic"]);
    }

    #[test]
    fn a_violation_says_what_to_do() {
        let violations = check(&[package("rehearsal-core: rehearsal-sim")]);
        assert_eq!(
            violations[0].to_string(),
            "error: `rehearsal-core` depends on `rehearsal-sim`, which is not below it\n\n\
             hint: remove `rehearsal-sim` from crates/rehearsal-core/Cargo.toml and move what both need to a room \
             below both; for tests alone, put it under [dev-dependencies]"
        );
    }

    #[test]
    fn the_table_is_whole_and_has_no_way_back_up() {
        for (room, doors) in ROOMS {
            assert!(!below(room).contains(room), "{room} can be reached from itself");
            for door in *doors {
                assert!(is_room(door), "{room} opens to {door}, which is no room");
            }
        }
    }
}
