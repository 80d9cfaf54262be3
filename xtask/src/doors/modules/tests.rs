//! The walls of small crates.

use super::*;

const WALLS: &[Wall] = &[
    Wall {
        room: "inn",
        modules: &["desk"],
        never: &["crate::wire", "crate::http", "socket"],
        why: "the desk knows no wire",
    },
    Wall { room: "inn", modules: &["wire::codec"], never: &["crate::wire::service"], why: "no service" },
];

const ELSEWHERE: &[Elsewhere] =
    &[Elsewhere { room: "inn", name: "Metric", why: "metrics are in another crate" }];

/// The modules that the walls speak of, with nothing in them.
const EMPTY: [&str; 7] = ["lib", "desk", "desk/turns", "wire", "wire/codec", "wire/service", "http"];

fn tree(files: &[(&str, &str)]) -> Vec<Source> {
    let text_of = |name: &str| files.iter().find(|(file, _)| *file == name).map_or("", |(_, text)| *text);
    let source = |name: &str| {
        let file = PathBuf::from(format!("{name}.rs"));
        Source { module: module_of(&file), file, text: text_of(name).to_owned() }
    };
    let more = files.iter().map(|(file, _)| *file).filter(|file| !EMPTY.contains(file));
    EMPTY.into_iter().chain(more).map(source).collect()
}

/// Each breach is shown as `file: path` or `file: impl Trait`.
#[track_caller]
fn check_tree(files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = check(WALLS, ELSEWHERE, "inn", &tree(files))
        .into_iter()
        .map(|breach| match breach {
            Breach::Uses { file, path, .. } => format!("{}: {path}", file.display()),
            Breach::Implements { file, name, .. } => format!("{}: impl {name}", file.display()),
            Breach::NoModule { module, .. } => format!("no {module}"),
            Breach::NoTokens { file, .. } => format!("{}: no tokens", file.display()),
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_module_uses_what_is_on_its_side() {
    check_tree(
        &[
            ("desk", "use crate::clock::{self, Now}; use super::clock; use crate::wired::Up; mod turns;"),
            ("desk/turns", "use super::Desk; use super::super::clock; fn http() { self::wire::go() }"),
            ("wire", "use crate::desk::Desk; use socket::Listener; use crate::http::Page;"),
            ("wire/service", "use super::codec; use crate::http;"),
            ("clock", "use crate::http::Clock;"),
        ],
        &[],
    );
}

#[test]
fn a_wall_holds_however_the_path_is_written() {
    let spellings = [
        ("use crate::wire;", "crate::wire"),
        ("use crate::wire::{self};", "crate::wire"),
        ("use crate::{clock, wire::codec::{Bytes, Reader as R}};", "crate::wire::codec::Bytes"),
        ("fn f() -> crate::http::Page { todo!() }", "crate::http::Page"),
        ("fn f() { g(|x| vec![x, crate::http::page()]) }", "crate::http::page"),
        ("use super::super::http::*;", "crate::http"),
        ("mod inner { use super::super::super::http; }", "crate::http"),
        ("#[cfg(test)] mod tests { use crate::http::Page; }", "crate::http::Page"),
        ("use socket::Listener;", "socket::Listener"),
        ("use ::socket::Listener;", "socket::Listener"),
    ];
    for (text, path) in spellings {
        let found = check(WALLS, ELSEWHERE, "inn", &tree(&[("desk/turns", text)]));
        let named = |breach: &Breach| matches!(breach, Breach::Uses { path: found, .. } if found == path);
        assert!(found.iter().any(named), "{text}: {found:?}");
    }
}

#[test]
fn words_in_comments_and_texts_are_no_uses() {
    let text = r##"
        //! See [`crate::wire`].
        /// As `crate::http::Page` does.
        fn f<'a>(c: char) -> &'a str { /* crate::wire::x */ if c == '"' { "crate::http::x" } else { r#"socket::x"# } }
    "##;
    check_tree(&[("desk", text)], &[]);
}

#[test]
fn a_wall_can_stand_inside_a_module() {
    check_tree(
        &[
            ("wire/codec", "use super::service::Service; use socket::Bytes;"),
            ("wire/codec/part", "use crate::wire::service;"),
        ],
        &["wire/codec.rs: crate::wire::service::Service", "wire/codec/part.rs: crate::wire::service"],
    );
}

#[test]
fn a_trait_is_implemented_where_it_belongs() {
    check_tree(
        &[
            ("desk", "impl Metric for Check { } impl Display for Metric { }"),
            ("http", "impl<T: for<'a> Fn(&'a str)> other::Metric for Check<T> { }"),
            ("lib", "fn all() -> Vec<impl Metric> { for metric in all {} } // impl Metric for X"),
        ],
        &["desk.rs: impl Metric", "http.rs: impl Metric"],
    );
}

#[test]
fn a_wall_around_nothing_is_no_wall() {
    let mut sources = tree(&[]);
    sources.retain(|source| source.module != ["http"] && source.module != ["wire", "codec"]);
    let found = check(WALLS, ELSEWHERE, "inn", &sources);
    assert_eq!(
        found,
        [
            Breach::NoModule { room: "inn", module: "http" },
            Breach::NoModule { room: "inn", module: "wire::codec" },
        ]
    );
    check_tree(&[("desk", "fn f( {")], &["desk.rs: no tokens"]);
}

#[test]
fn a_breach_says_what_to_do() {
    let found = check(WALLS, ELSEWHERE, "inn", &tree(&[("desk/turns", "use crate::http::Page;")]));
    assert_eq!(
        found[0].to_string(),
        "error: module `desk` uses `crate::http::Page`, but the desk knows no wire\n\n\
         hint: remove `crate::http::Page` from desk/turns.rs and hand in what it needs, behind a trait of `desk`"
    );
}

#[test]
fn files_have_the_modules_that_rust_gives_them() {
    let module = |file: &str| module_of(Path::new(file)).join("::");
    assert_eq!(
        (module("lib.rs"), module("desk.rs"), module("desk/turns.rs"), module("desk/mod.rs")),
        (String::new(), "desk".to_owned(), "desk::turns".to_owned(), "desk".to_owned())
    );
}
