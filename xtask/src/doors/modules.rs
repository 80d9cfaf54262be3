//! Walls inside a crate: which module never uses what, and which trait a crate never implements.
//!
//! Source files are read as tokens: paths that begin with `crate`, `super` or the name of a library are seen wherever they
//! stand, also in groups (`use crate::{a, b}`) and in macros, and not in comments and texts. What is not seen: a thing
//! of a forbidden module under another name, as one that the crate's root exports (`crate::Thing`), one that is imported
//! with a glob (`use super::*`) or one that a permitted module hands on; a trait under another name (`use Metric as M`);
//! and what a macro makes of its tokens.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Words after which a path of a library may begin with `::`.
const BEFORE_PATHS: &[&str] = &[
    "as", "dyn", "else", "for", "if", "impl", "in", "match", "move", "mut", "return", "use", "where", "while",
];

/// Modules of a crate and what they never use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    pub(super) room: &'static str,
    /// Paths of modules from the crate's root. What holds of one holds of those inside it.
    pub(super) modules: &'static [&'static str],
    /// `crate::` and the path of a module, or the name of a library.
    pub(super) never: &'static [&'static str],
    pub(super) why: &'static str,
}

/// A trait that a crate never implements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere {
    pub(super) room: &'static str,
    pub(super) name: &'static str,
    pub(super) why: &'static str,
}

/// A source file that breaks a rule, or a rule that has lost what it is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Breach {
    Uses { file: PathBuf, module: String, path: String, why: &'static str },
    Implements { file: PathBuf, name: &'static str, why: &'static str },
    NoModule { room: &'static str, module: &'static str },
    NoTokens { file: PathBuf, why: String },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uses { file, module, path, why } => write!(
                f,
                "error: module `{module}` uses `{path}`, but {why}\n\n\
                 hint: remove `{path}` from {} and hand in what it needs, behind a trait of `{module}`",
                file.display()
            ),
            Self::Implements { file, name, why } => write!(
                f,
                "error: {} implements `{name}`, but {why}\n\n\
                 hint: move the implementation there and use it from here",
                file.display()
            ),
            Self::NoModule { room, module } => write!(
                f,
                "error: `{room}` has no module `{module}`, so that a wall around it keeps nothing\n\n\
                 hint: write its new name in the table WALLS in xtask/src/doors.rs"
            ),
            Self::NoTokens { file, why } => write!(
                f,
                "error: {} cannot be read: {why}\n\n\
                 hint: `cargo check` says where it is not Rust",
                file.display()
            ),
        }
    }
}

/// A source file of a crate.
#[derive(Debug)]
pub(super) struct Source {
    /// As messages show it.
    pub(super) file: PathBuf,
    /// The path of its module from the crate's root; empty for the root.
    pub(super) module: Vec<String>,
    pub(super) text: String,
}

impl Source {
    /// The source files below the folder `src`, in order.
    pub(super) fn all(root: &Path, src: &Path) -> std::io::Result<Vec<Self>> {
        let mut found = Vec::new();
        let mut open = vec![root.join(src)];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path)?;
                    let file = path.strip_prefix(root).unwrap_or(&path).to_owned();
                    let module = module_of(file.strip_prefix(src).unwrap_or(&file));
                    found.push(Self { file, module, text });
                }
            }
        }
        found.sort_by(|a, b| a.file.cmp(&b.file));
        Ok(found)
    }
}

/// The module that a file holds, by the file's place below `src`.
fn module_of(file: &Path) -> Vec<String> {
    let mut module: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| matches!(last.as_str(), "lib" | "main" | "mod")) {
        module.pop();
    }
    module
}

/// What breaks the rules in the source files of one crate.
pub(super) fn check(walls: &[Wall], elsewhere: &[Elsewhere], room: &str, sources: &[Source]) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let walls: Vec<&Wall> = walls.iter().filter(|wall| wall.room == room).collect();
    for wall in &walls {
        let named = wall.modules.iter().copied();
        let named = named.chain(wall.never.iter().filter_map(|path| path.strip_prefix("crate::")));
        for module in named {
            if !sources.iter().any(|source| source.module.join("::") == module) {
                breaches.push(Breach::NoModule { room: wall.room, module });
            }
        }
    }
    for source in sources {
        let tokens = match source.text.parse::<TokenStream>() {
            Ok(tokens) => tokens,
            Err(error) => {
                breaches.push(Breach::NoTokens { file: source.file.clone(), why: error.to_string() });
                continue;
            }
        };
        let mut seen = Seen::default();
        seen.read(tokens, &source.module);
        for wall in &walls {
            breaches.extend(breaches_of(wall, source, &seen));
        }
        for Elsewhere { name, why, .. } in elsewhere.iter().filter(|rule| rule.room == room) {
            if seen.implemented.contains(*name) {
                breaches.push(Breach::Implements { file: source.file.clone(), name, why });
            }
        }
    }
    breaches
}

fn breaches_of(wall: &Wall, source: &Source, seen: &Seen) -> Vec<Breach> {
    let own = source.module.join("::");
    let Some(module) = wall.modules.iter().find(|module| is_within(&own, module)) else { return Vec::new() };
    let broken = |path: &&String| wall.never.iter().any(|never| is_within(path, never));
    seen.paths
        .iter()
        .filter(broken)
        .map(|path| Breach::Uses {
            file: source.file.clone(),
            module: (*module).to_owned(),
            path: path.clone(),
            why: wall.why,
        })
        .collect()
}

/// Whether a path is another or goes on from it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// What stands in a source file.
#[derive(Debug, Default)]
struct Seen {
    /// Paths of two parts or more. Those within the crate begin with `crate`.
    paths: BTreeSet<String>,
    /// Names of traits, without their paths.
    implemented: BTreeSet<String>,
}

impl Seen {
    fn read(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Ident(word) if *word == "mod" => {
                    if let [TokenTree::Ident(name), TokenTree::Group(body), ..] = &tokens[at..] {
                        let inner = [module, &[name.to_string()]].concat();
                        self.read(body.stream(), &inner);
                        at += 2;
                    }
                }
                TokenTree::Ident(word) if BEFORE_PATHS.contains(&word.to_string().as_str()) => {}
                TokenTree::Ident(word) => {
                    let next = tokens.get(at);
                    if matches!(next, Some(TokenTree::Ident(next)) if *next == "for") {
                        self.implemented.insert(word.to_string());
                    }
                    at = self.path(vec![word.to_string()], &tokens, at, module);
                }
                TokenTree::Group(group) => self.read(group.stream(), module),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Reads the rest of a path, and gives the place after it.
    fn path(
        &mut self,
        mut path: Vec<String>,
        tokens: &[TokenTree],
        mut at: usize,
        module: &[String],
    ) -> usize {
        while is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1)) {
            match tokens.get(at + 2) {
                Some(TokenTree::Ident(word)) => path.push(word.to_string()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.group(&path, group.stream(), module);
                    return at + 3;
                }
                _ => break,
            }
            at += 3;
            // The trait of `impl some::Metric for …`.
            if matches!(tokens.get(at), Some(TokenTree::Ident(next)) if *next == "for") {
                self.implemented.extend(path.last().cloned());
            }
        }
        self.add(&path, module);
        at
    }

    /// Reads what stands in braces after a path: more paths, with commas between them.
    fn group(&mut self, path: &[String], tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
        for part in tokens.split(is_comma) {
            match part.first() {
                Some(TokenTree::Ident(word)) if *word == "self" => self.add(path, module),
                Some(TokenTree::Ident(word)) => {
                    self.path([path, &[word.to_string()]].concat(), part, 1, module);
                }
                _ => self.add(path, module),
            }
        }
    }

    /// Notes a path, from the crate's root where it is within the crate.
    fn add(&mut self, path: &[String], module: &[String]) {
        let from_here = path.strip_prefix(&["self".to_owned()][..]).unwrap_or(path);
        let ups = from_here.iter().take_while(|part| *part == "super").count();
        let path = if ups == 0 {
            path.join("::")
        } else {
            let outer = &module[..module.len().saturating_sub(ups)];
            [&["crate".to_owned()], outer, &from_here[ups..]].concat().join("::")
        };
        if path.contains("::") {
            self.paths.insert(path);
        }
    }
}

fn is_colon(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
}

#[cfg(test)]
mod tests;
