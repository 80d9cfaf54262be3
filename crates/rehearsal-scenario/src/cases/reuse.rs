//! Reuse: blocks of other files (`use`), agents of their own files (`agent: {file: …}`), and what the project's file gives.
//!
//! All of it is put together as trees, before anything is read, so that what is shared is read as if it stood in the file
//! itself. What the file says goes before what it uses, and that before what the project gives.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use super::Origin;
use crate::Problem;
use crate::file::keys::{AGENT_BY_FILE, AGENT_BY_NAME};
use crate::project::Project;
use crate::read::{Reader, nearest};
use crate::sources::{Sources, folder, moved};
use crate::yaml::{self, Entry, Node, NodeValue};

/// A file, and a place in it.
#[derive(Clone, Debug)]
pub(crate) struct Reference {
    path: String,
    /// Keys and positions, from the outside in.
    pointer: Vec<String>,
    /// Where it is written.
    place: Range<usize>,
}

impl Reference {
    /// Reads `FILE` or `FILE#/POINTER`.
    pub(crate) fn new(text: &str, place: Range<usize>) -> Self {
        let (path, pointer) = text.split_once('#').unwrap_or((text, ""));
        let steps = pointer.split('/').filter(|step| !step.is_empty());
        let pointer = steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
        Self { path: path.to_owned(), pointer, place }
    }
}

/// Reads files, each once.
pub(crate) struct Loader<'o> {
    pub(crate) origin: &'o Origin<'o>,
    pub(crate) sources: Sources,
    parsed: BTreeMap<PathBuf, Node>,
}

type Found<T> = Result<T, Box<Problem>>;

impl<'o> Loader<'o> {
    pub(crate) fn new(origin: &'o Origin<'o>, text: &str) -> Self {
        Self { origin, sources: Sources::new(origin.path, text), parsed: BTreeMap::new() }
    }

    /// A path, from the folder of the file in which it is written.
    pub(crate) fn path(&self, path: &str, written_at: usize) -> PathBuf {
        let home = self.sources.folder_of(written_at);
        joined(home.as_deref().unwrap_or_else(|| folder(self.origin.path)), path)
    }

    /// The tree of a YAML file.
    fn tree(&mut self, path: &Path, place: &Range<usize>) -> Found<Node> {
        if let Some(node) = self.parsed.get(path) {
            return Ok(node.clone());
        }
        let text = (self.origin.read)(path).map_err(|why| {
            let message = format!("`{}` cannot be read: {why}", path.display());
            let problem = Problem::error("no-file", place.clone(), message);
            Box::new(problem.help("paths begin at the folder of the file that names them"))
        })?;
        let start = self.sources.add(path, &text);
        let node = yaml::parse(&text).map_err(|problem| {
            let span = problem.span.start + start..problem.span.end + start;
            Box::new(Problem { span, ..problem })
        })?;
        let node = moved(node, start);
        self.parsed.insert(path.to_owned(), node.clone());
        Ok(node)
    }

    /// What a reference names.
    pub(crate) fn load(&mut self, reference: &Reference) -> Found<Node> {
        let path = self.path(&reference.path, reference.place.start);
        let mut node = self.tree(&path, &reference.place)?;
        for (depth, step) in reference.pointer.iter().enumerate() {
            node = below(node, step).map_err(|known| {
                let message =
                    format!("`{}` has no `/{}`", path.display(), reference.pointer[..=depth].join("/"));
                let problem = Problem::error("no-block", reference.place.clone(), message);
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                Box::new(match nearest(step, known.iter().copied()) {
                    Some(near) => problem.help(format!("did you mean `{near}`?")),
                    None if known.is_empty() => problem,
                    None => problem.help(format!("there are: {}", super::fill::listed(&known))),
                })
            })?;
        }
        Ok(node)
    }
}

/// A path in a folder, without needless `.` and `..`, so that the same file is known again.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(clean.components().next_back(), Some(Component::Normal(_))) => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// The value at a key or a position; else the keys that there are.
fn below(node: Node, step: &str) -> Result<Node, Vec<String>> {
    match node.value {
        NodeValue::Map(entries) => {
            let known = entries.iter().map(|entry| entry.key.clone()).collect();
            let found = entries.into_iter().find(|entry| entry.key == step);
            found.map(|entry| entry.value).ok_or(known)
        }
        NodeValue::List(items) => {
            let at = step.parse::<usize>().ok();
            at.and_then(|at| items.into_iter().nth(at)).ok_or_else(Vec::new)
        }
        _ => Err(Vec::new()),
    }
}

/// The places where blocks can go, by the first word of their pointers.
const BLOCKS: &[&str] = &["mocks", "models", "tools", "evaluations", "variables", "prices", "defaults"];

/// How deep files may use files.
const MAX_DEPTH: usize = 32;

/// Puts together what a file says, what it uses and what its project gives.
pub(crate) fn assemble(
    reader: &mut Reader<'_>,
    loader: &mut Loader<'_>,
    root: Node,
    project: Option<&Project>,
) -> Node {
    let Node { span, value: NodeValue::Map(mut entries) } = root else { return root };
    uses(reader, loader, &mut entries, 0);
    let mut agents = Vec::new();
    if let Some(project) = project {
        let start = loader.sources.add(project.path(), project.text());
        let mut given = project.given(start);
        if let Some(NodeValue::Map(mut defaults)) = given.defaults.take().map(|node| node.value) {
            uses(reader, loader, &mut defaults, 0);
            merge(&mut entries, defaults);
        }
        for (key, node) in [("models", given.models), ("models", given.judges), ("prices", given.prices)] {
            merge_at(&mut entries, key, node);
        }
        if let Some(variables) = given.variables {
            merge_variables(&mut entries, variables);
        }
        if let Some(Node { span, value: NodeValue::List(items) }) = given.public {
            append(within(&mut entries, "environment", &span), "public", items, &span);
        }
        agents = given.agents;
    }
    agent(reader, loader, &mut entries, &agents);
    Node { span, value: NodeValue::Map(entries) }
}

fn take(entries: &mut Vec<Entry>, key: &str) -> Option<Entry> {
    let at = entries.iter().position(|entry| entry.key == key)?;
    Some(entries.remove(at))
}

/// Takes the blocks that a map uses.
fn uses(reader: &mut Reader<'_>, loader: &mut Loader<'_>, entries: &mut Vec<Entry>, depth: usize) {
    let Some(used) = take(entries, "use") else { return };
    if depth > MAX_DEPTH {
        let problem = Problem::error("cycle", used.key_span, "these blocks use each other without an end");
        reader.report(problem.help("take one of them out of the circle"));
        return;
    }
    for item in reader.list(&used.value, "`use`") {
        let Some(text) = reader.text(item, "an item of `use`") else { continue };
        let reference = Reference::new(&text, item.span.clone());
        let Some(kind) = reference.pointer.first().cloned() else {
            let problem =
                Problem::error("no-block", item.span.clone(), format!("`{text}` names no block of the file"));
            let help = format!("write which: {text}#/mocks; it can be: {}", super::fill::listed(BLOCKS));
            reader.report(problem.help(help));
            continue;
        };
        if !BLOCKS.contains(&kind.as_str()) {
            let message = format!("`{text}`: there is no place for a block of `{kind}`");
            let problem = Problem::error("no-block", item.span.clone(), message);
            reader.report(match nearest(&kind, BLOCKS.iter().copied()) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help(format!("it can be: {}", super::fill::listed(BLOCKS))),
            });
            continue;
        }
        match loader.load(&reference) {
            Ok(node) => place(reader, loader, entries, &reference, &kind, node, depth),
            Err(problem) => reader.report(*problem),
        }
    }
}

/// Puts a block where its kind goes.
fn place(
    reader: &mut Reader<'_>,
    loader: &mut Loader<'_>,
    entries: &mut Vec<Entry>,
    reference: &Reference,
    kind: &str,
    node: Node,
    depth: usize,
) {
    let mut wrong = |node: &Node, expected: &str| {
        let message = format!("a block of `{kind}` must be {expected}");
        let problem = Problem::error("wrong-type", node.span.clone(), message);
        reader.report(problem.label(format!("this is {}", node.value.kind())));
    };
    match kind {
        "mocks" | "tools" | "evaluations" => {
            let key = if kind == "mocks" {
                "method"
            } else if kind == "tools" {
                "name"
            } else {
                "type"
            };
            let items = match node.value {
                NodeValue::List(items) => items,
                NodeValue::Map(ref own) if own.iter().any(|entry| entry.key == key) => vec![node],
                _ => return wrong(&node, "a list"),
            };
            match kind {
                "mocks" => {
                    append(within(entries, "setup", &reference.place), "mocks", items, &reference.place);
                }
                "tools" => add_tools(entries, items, &reference.place),
                _ => {
                    if let Some(step) = last_step(entries) {
                        append(step, "evaluations", items, &reference.place);
                    }
                }
            }
        }
        "models" => match (&reference.pointer[..], node) {
            ([_, .., name], node) => {
                let entry =
                    Entry { key: name.clone(), key_span: reference.place.clone(), value: node.clone() };
                let value = NodeValue::Map(vec![Entry { key_span: node.span.clone(), ..entry }]);
                merge_at(entries, "models", Some(Node { span: node.span, value }));
            }
            (_, node @ Node { value: NodeValue::Map(_), .. }) => merge_at(entries, "models", Some(node)),
            (_, node) => wrong(&node, "a map"),
        },
        "variables" => merge_variables(entries, node),
        "prices" => match node.value {
            NodeValue::Map(_) => merge_at(entries, "prices", Some(node)),
            _ => wrong(&node, "a map"),
        },
        _ => match node.value {
            NodeValue::Map(mut more) => {
                uses(reader, loader, &mut more, depth + 1);
                merge(entries, more);
            }
            _ => wrong(&node, "a map"),
        },
    }
}

/// The map at a key, which is made where it is missing.
fn within<'e>(entries: &'e mut Vec<Entry>, key: &str, place: &Range<usize>) -> &'e mut Vec<Entry> {
    let at = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        let value = Node { span: place.clone(), value: NodeValue::Map(Vec::new()) };
        entries.push(Entry { key: key.to_owned(), key_span: place.clone(), value });
        entries.len() - 1
    });
    let node = &mut entries[at].value;
    if node.value == NodeValue::Null {
        node.value = NodeValue::Map(Vec::new());
    }
    match &mut entries[at].value.value {
        NodeValue::Map(inner) => inner,
        // What stands there is reported by whoever reads it.
        other => {
            *other = NodeValue::Map(Vec::new());
            match other {
                NodeValue::Map(inner) => inner,
                _ => unreachable!("it was made a map"),
            }
        }
    }
}

fn append(entries: &mut Vec<Entry>, key: &str, items: Vec<Node>, place: &Range<usize>) {
    match entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.value.value) {
        Some(NodeValue::List(own)) => own.extend(items),
        Some(own @ NodeValue::Null) => *own = NodeValue::List(items),
        Some(_) => {}
        None => {
            let value = Node { span: place.clone(), value: NodeValue::List(items) };
            entries.push(Entry { key: key.to_owned(), key_span: place.clone(), value });
        }
    }
}

/// Adds tools to the agent; its own of the same name stay.
fn add_tools(entries: &mut Vec<Entry>, items: Vec<Node>, place: &Range<usize>) {
    let agent = within(entries, "agent", place);
    let name = |node: &Node| match &node.value {
        NodeValue::Map(fields) => {
            fields.iter().find(|entry| entry.key == "name").map(|entry| entry.value.value.clone())
        }
        _ => None,
    };
    let own: Vec<NodeValue> =
        match agent.iter().find(|entry| entry.key == "tools").map(|entry| &entry.value.value) {
            Some(NodeValue::List(own)) => own.iter().filter_map(name).collect(),
            _ => Vec::new(),
        };
    let items = items.into_iter().filter(|item| name(item).is_none_or(|name| !own.contains(&name)));
    append(agent, "tools", items.collect(), place);
}

/// The last step of a file.
pub(crate) fn last_step(entries: &mut [Entry]) -> Option<&mut Vec<Entry>> {
    let run = entries.iter_mut().find(|entry| entry.key == "run")?;
    let NodeValue::List(steps) = &mut run.value.value else { return None };
    match &mut steps.last_mut()?.value {
        NodeValue::Map(step) => Some(step),
        _ => None,
    }
}

/// Adds evaluations to the last step; says whether there is one.
pub(crate) fn expect_of_last_step(entries: &mut [Entry], items: Vec<Node>, place: &Range<usize>) -> bool {
    match last_step(entries) {
        Some(step) => {
            append(step, "evaluations", items, place);
            true
        }
        None => false,
    }
}

/// Puts a map under another: maps key by key, of all else what is there stays.
fn merge(own: &mut Vec<Entry>, under: Vec<Entry>) {
    for entry in under {
        match own.iter_mut().find(|other| other.key == entry.key) {
            None => own.push(entry),
            // An agent is one or another, never half of each; a variable list is put together by its own rule.
            Some(_) if entry.key == "agent" => {}
            Some(other) => match (&mut other.value.value, entry.value.value) {
                (NodeValue::Map(inner), NodeValue::Map(more)) => merge(inner, more),
                (value @ NodeValue::Null, more) => *value = more,
                _ => {}
            },
        }
    }
}

fn merge_at(entries: &mut Vec<Entry>, key: &str, node: Option<Node>) {
    let Some(node) = node else { return };
    let entry = Entry { key: key.to_owned(), key_span: node.span.clone(), value: node };
    merge(entries, vec![entry]);
}

/// Puts variables under those of `environment`: names, or names with values.
fn merge_variables(entries: &mut Vec<Entry>, node: Node) {
    let environment = within(entries, "environment", &node.span);
    let Some(own) = environment.iter_mut().find(|entry| entry.key == "variables") else {
        let key_span = node.span.clone();
        environment.push(Entry { key: "variables".to_owned(), key_span, value: node });
        return;
    };
    match (&mut own.value.value, node.value) {
        (NodeValue::List(names), NodeValue::List(more)) => {
            let missing = more.into_iter().filter(|name| !names.iter().any(|own| own.value == name.value));
            let missing: Vec<Node> = missing.collect();
            names.extend(missing);
        }
        (own, more) => {
            let mut named = by_name(std::mem::replace(own, NodeValue::Null));
            merge(&mut named, by_name(more));
            *own = NodeValue::Map(named);
        }
    }
}

/// Variables as a map; one that is only named has its value from the environment.
fn by_name(variables: NodeValue) -> Vec<Entry> {
    match variables {
        NodeValue::Map(entries) => entries,
        NodeValue::List(names) => names
            .into_iter()
            .filter_map(|node| match node.value {
                NodeValue::Text(name) => {
                    let value = NodeValue::Text(format!("${{env.{name}}}"));
                    let value = Node { span: node.span.clone(), value };
                    Some(Entry { key: name, key_span: node.span, value })
                }
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Puts the agent of another file, or one of the project, in its place.
fn agent(reader: &mut Reader<'_>, loader: &mut Loader<'_>, entries: &mut Vec<Entry>, named: &[Entry]) {
    let mut seen: Vec<PathBuf> = Vec::new();
    loop {
        let Some(at) = entries.iter().position(|entry| entry.key == "agent") else { return };
        let NodeValue::Map(fields) = &entries[at].value.value else { return };
        let has = |key: &str| fields.iter().any(|entry| entry.key == key);
        let node = entries[at].value.clone();
        if has("use") {
            let Some(other) = agent_by_name(reader, &node, named) else {
                entries.remove(at);
                return;
            };
            if seen.len() > MAX_DEPTH {
                let problem =
                    Problem::error("cycle", node.span, "these agents name each other without an end");
                reader.report(problem);
                entries.remove(at);
                return;
            }
            seen.push(PathBuf::new());
            entries[at].value = other;
        } else if has("file") {
            let Some(found) = agent_by_file(reader, loader, &node, &mut seen) else {
                entries.remove(at);
                return;
            };
            take_agent(entries, at, found);
        } else {
            return;
        }
    }
}

fn agent_by_name(reader: &mut Reader<'_>, node: &Node, named: &[Entry]) -> Option<Node> {
    let mut fields = reader.fields(node, "`agent`", &AGENT_BY_NAME)?;
    fields.text(reader, "description");
    let name = fields.text(reader, "use");
    let place = fields.get("use").map(|node| node.span.clone());
    fields.finish(reader);
    let (name, place) = (name?, place?);
    if let Some(entry) = named.iter().find(|entry| entry.key == name) {
        return Some(entry.value.clone());
    }
    let problem = Problem::error("no-agent", place, format!("`rehearsal.yaml` names no agent `{name}`"));
    reader.report(match nearest(&name, named.iter().map(|entry| entry.key.as_str())) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if named.is_empty() => problem.help(format!(
            "write into the `rehearsal.yaml` of this folder, or of one above it: agents: {{{name}: {{file: agents/{name}.yaml}}}}"
        )),
        None => {
            let known: Vec<&str> = named.iter().map(|entry| entry.key.as_str()).collect();
            problem.help(format!("there are: {}", super::fill::listed(&known)))
        }
    });
    None
}

fn agent_by_file(
    reader: &mut Reader<'_>,
    loader: &mut Loader<'_>,
    node: &Node,
    seen: &mut Vec<PathBuf>,
) -> Option<Vec<Entry>> {
    let mut fields = reader.fields(node, "`agent`", &AGENT_BY_FILE)?;
    fields.text(reader, "description");
    let path = fields.text(reader, "file");
    let place = fields.get("file").map(|node| node.span.clone());
    fields.finish(reader);
    let (path, place) = (path?, place?);
    let whole = loader.path(&path, place.start);
    if seen.contains(&whole) {
        let message = format!("`{}` takes its agent from itself", whole.display());
        reader
            .report(Problem::error("cycle", place, message).help("take one of the files out of the circle"));
        return None;
    }
    seen.push(whole.clone());
    match loader.load(&Reference::new(&path, place.clone())) {
        Ok(Node { value: NodeValue::Map(entries), .. })
            if entries.iter().any(|entry| entry.key == "agent") =>
        {
            Some(entries)
        }
        Ok(_) => {
            let message = format!("`{}` has no `agent`", whole.display());
            let problem = Problem::error("no-agent", place, message);
            reader.report(problem.help("it is a file as `--agent` takes it: agent: {instructions: …}"));
            None
        }
        Err(problem) => {
            reader.report(*problem);
            None
        }
    }
}

/// Puts what an agent's file has under what the scenario says, with its agent in place.
fn take_agent(entries: &mut Vec<Entry>, at: usize, file: Vec<Entry>) {
    for entry in file {
        match entry.key.as_str() {
            "agent" => entries[at].value = entry.value,
            "models" | "prices" => merge(entries, vec![entry]),
            "variables" => merge_variables(entries, entry.value),
            // A scenario has one world; its own goes first.
            "world" if entries.iter().all(|own| own.key != "world") => entries.push(entry),
            "public" => {
                let span = entry.key_span.clone();
                if let NodeValue::List(items) = entry.value.value {
                    append(within(entries, "environment", &span), "public", items, &span);
                }
            }
            "setup" => {
                let NodeValue::Map(setup) = entry.value.value else { continue };
                for part in setup.into_iter().filter(|part| part.key == "mocks") {
                    if let NodeValue::List(items) = part.value.value {
                        append(within(entries, "setup", &part.key_span), "mocks", items, &part.key_span);
                    }
                }
            }
            _ => {}
        }
    }
}
