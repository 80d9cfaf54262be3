//! The multi-turn entries of the Berkeley Function-Calling Leaderboard.
//!
//! What is read is the folder `data` of the Python package `bfcl-eval`: the entries and their ground truth. The classes
//! stay where they are: a scenario's world is [`WORLD`], which imports them. Functions that an entry withholds appear in
//! mid-conversation, when the user gives them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::read::{self, at, items, said};
use crate::report::{Change, Note, Report, TaskReport};
use crate::{Import, ImportError, file_name, yaml};
use call::Call;

mod call;

/// The world of the scenarios, a program in Python.
pub const WORLD: &str = include_str!("bfcl/world.py");

/// The name of its file.
const WORLD_FILE: &str = "bfcl_world.py";

/// What the user says when it gives functions, in BFCL's words for models that call functions.
const MORE_FUNCTIONS: &str = "I have updated some more functions you can choose from. What about now?";

/// The tool of the user's side that gives them.
const MORE: &str = "more_functions";

/// How often an agent may ask its model for one answer, which is BFCL's limit of steps in a turn.
const ROUNDS: u64 = 20;

/// How much of a call that cannot be read is shown, in characters.
const LONGEST: usize = 200;

/// The kinds of multi-turn entries.
pub const CATEGORIES: [&str; 4] =
    ["multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context"];

/// The documents of functions, by the class they belong to.
const DOCUMENTS: [(&str, &str); 8] = [
    ("GorillaFileSystem", "gorilla_file_system.json"),
    ("MathAPI", "math_api.json"),
    ("MessageAPI", "message_api.json"),
    ("TwitterAPI", "posting_api.json"),
    ("TicketAPI", "ticket_api.json"),
    ("TradingBot", "trading_bot.json"),
    ("TravelAPI", "travel_booking.json"),
    ("VehicleControlAPI", "vehicle_control.json"),
];

/// Where the data is below the folder of the package, or the one that it is installed into.
const BELOW: &[&str] = &["data", "bfcl_eval/data"];

/// What is wanted of the entries.
#[derive(Clone, Debug, Default)]
pub struct BfclOptions {
    /// The entries, by their ids; all of the four kinds where none is named.
    pub entries: Vec<String>,
}

/// Reads entries.
///
/// # Errors
/// The folder is another one, or something in it cannot be read.
pub fn import(folder: &Path, options: &BfclOptions) -> Result<Import, ImportError> {
    let folder = &read::home(folder, BELOW, &format!("multi_turn_func_doc/{}", DOCUMENTS[0].1));
    let functions = Functions::read(folder)?;
    let (mut files, mut tasks) = (Vec::new(), Vec::new());
    let mut unseen: BTreeSet<&str> = options.entries.iter().map(String::as_str).collect();
    for category in CATEGORIES {
        let is_wanted =
            |id: &str| options.entries.is_empty() || options.entries.iter().any(|each| each == id);
        if !options.entries.is_empty() && !options.entries.iter().any(|id| category_of(id) == category) {
            continue;
        }
        let path = folder.join(format!("BFCL_v4_{category}.json"));
        if !path.is_file() {
            return Err(missing(folder, format!("BFCL_v4_{category}.json")));
        }
        let answers = folder.join("possible_answer").join(format!("BFCL_v4_{category}.json"));
        let truths: BTreeMap<String, Value> = read::lines(&answers)?
            .into_iter()
            .map(|truth| (said(&truth, &["id"]).to_owned(), truth))
            .collect();
        for entry in read::lines(&path)? {
            let id = said(&entry, &["id"]);
            if !is_wanted(id) {
                continue;
            }
            unseen.remove(id);
            let truth = truths.get(id).ok_or_else(|| read::form(&answers, format!("it has no `{id}`")))?;
            let (report, scenario) = convert(&entry, truth, &functions);
            files.extend(report.file.clone().zip(scenario));
            tasks.push(report);
        }
    }
    if let Some(name) = unseen.first() {
        let hint =
            "ids are like `multi_turn_base_0`; those of other kinds of entries are not read".to_owned();
        return Err(ImportError::Unknown { what: "entry", name: (*name).to_owned(), hint });
    }
    files.push((PathBuf::from(WORLD_FILE), WORLD.to_owned()));
    let source = "BFCL v4, multi-turn, as the package bfcl-eval has it".to_owned();
    Ok(Import { files, report: Report { source, every_task: every_entry(), tasks } })
}

fn category_of(id: &str) -> &str {
    id.rsplit_once('_').map_or(id, |(category, _)| category)
}

fn missing(folder: &Path, missing: String) -> ImportError {
    ImportError::Folder {
        folder: folder.to_owned(),
        what: "the data of BFCL",
        missing,
        hint: "`pip install --no-deps bfcl-eval` brings it as `bfcl_eval/data`; `pip show bfcl-eval` says where",
    }
}

/// What the function documents say of parameters.
#[derive(Default)]
struct Functions {
    /// The names of each function's parameters, in their order.
    parameters: BTreeMap<String, Vec<String>>,
    /// The type of each, by the names of its function and itself.
    types: BTreeMap<(String, String), String>,
}

impl Functions {
    fn read(folder: &Path) -> Result<Self, ImportError> {
        let mut functions = Self::default();
        for (_, file) in DOCUMENTS {
            let path = folder.join("multi_turn_func_doc").join(file);
            if !path.is_file() {
                return Err(missing(folder, format!("multi_turn_func_doc/{file}")));
            }
            for document in read::lines(&path)? {
                let function = said(&document, &["name"]).to_owned();
                let described = at(&document, &["parameters", "properties"]).as_object();
                for (name, parameter) in described.into_iter().flatten() {
                    let of = (function.clone(), name.clone());
                    functions.types.insert(of, said(parameter, &["type"]).to_owned());
                }
                let names = described.into_iter().flat_map(Map::keys).cloned().collect();
                functions.parameters.insert(function, names);
            }
        }
        Ok(functions)
    }

    /// The arguments of a call that are of another type than the documents say.
    fn odd<'c>(&self, call: &'c Call) -> impl Iterator<Item = (&'c String, &'static str)> {
        call.args.iter().filter_map(|(name, value)| {
            let declared = self.types.get(&(call.tool.clone(), name.clone()))?;
            let (found, names): (_, &[&str]) = match value {
                Value::String(_) => ("a text", &["string"]),
                Value::Bool(_) => ("true or false", &["boolean"]),
                Value::Number(number) if number.is_f64() => ("a number", &["float", "number"]),
                Value::Number(_) => ("a whole number", &["integer", "float", "number"]),
                Value::Array(_) => ("a list", &["array", "tuple"]),
                Value::Object(_) => ("an object", &["dict", "object"]),
                Value::Null => ("nothing", &[]),
            };
            let fits = names.contains(&declared.as_str()) || matches!(declared.as_str(), "any" | "");
            (!fits).then_some((name, found))
        })
    }
}

fn every_entry() -> Vec<Note> {
    vec![
        Note::new(
            Change::Changed,
            "names of types",
            "`dict`, `float` and `tuple` of the function documents are JSON Schema's `object`, `number` and `array`; arguments are checked against them, and wrong ones are told to the model before the function sees them",
        ),
        Note::new(
            Change::Changed,
            "results",
            "a result that is JSON reaches the model as a value, not as the text of one; what is compared is the text, as in BFCL",
        ),
        Note::new(
            Change::Changed,
            "the limit of steps",
            "an agent that asks its model more than 20 times in a turn is an error here, and a failure in BFCL",
        ),
        Note::new(
            Change::Changed,
            "long texts in the state",
            "a text of more than 400 characters stands there as its beginning, its length and its hash",
        ),
        Note::new(
            Change::Stricter,
            "calls beside the ground truth",
            "the whole state is compared after each turn, with the answers that later turns still lack: a call too much whose answer a later turn wants fails here, and not in BFCL",
        ),
        Note::new(
            Change::Lost,
            "`path`",
            "the calls that the entry was made from; what counts is the ground truth",
        ),
    ]
}

/// One entry as a scenario: each turn of the user is a step.
fn convert(entry: &Value, truth: &Value, functions: &Functions) -> (TaskReport, Option<String>) {
    let id = said(entry, &["id"]);
    let mut notes = Vec::new();
    let (mut steps, mut reference) = (Vec::new(), Vec::new());
    let truths = items(truth, &["ground_truth"]);
    let withheld = at(entry, &["missed_function"]);
    let is_withheld = |tool: &str, turn: usize| {
        let later = withheld.as_object().into_iter().flatten();
        let later = later.filter(|(given, _)| given.parse().is_ok_and(|given: usize| turn < given));
        later.into_iter().any(|(_, names)| items(names, &[]).iter().any(|name| name == tool))
    };
    let lost = |why: String| {
        let notes = vec![Note::new(Change::Lost, "the entry", why)];
        (TaskReport { task: id.to_owned(), file: None, notes }, None)
    };
    for (index, question) in items(entry, &["question"]).iter().enumerate() {
        let calls = truths.get(index).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let messages: Vec<&str> =
            items(question, &[]).iter().map(|message| said(message, &["content"])).collect();
        if messages.is_empty() {
            // Until then the reference has not got them either.
            reference.push(json!({"tool": MORE, "by": "user"}));
        }
        for text in calls.iter().filter_map(Value::as_str) {
            match Call::read(text, &functions.parameters) {
                Ok(call) if is_withheld(&call.tool, index) => {
                    return lost(format!(
                        "its ground truth calls `{}` in turn {}, and the entry withholds that function until later: no agent has it then",
                        call.tool,
                        index + 1
                    ));
                }
                Ok(call) => {
                    notes.extend(functions.odd(&call).map(|(name, found)| {
                        let why = format!(
                            "it takes {found} too, which the ground truth gives against the function document"
                        );
                        Note::new(Change::Changed, &format!("`{name}` of `{}`", call.tool), why)
                    }));
                    reference.push(json!({"tool": call.tool, "args": call.args}));
                }
                Err(why) => {
                    let text = rehearsal_core::shorten(text, LONGEST);
                    return lost(format!("the call `{text}` of its ground truth cannot be read: {why}"));
                }
            }
        }
        let evaluations = if calls.is_empty() { Vec::new() } else { evaluations(index + 1, &reference) };
        steps.push(step(&messages, &evaluations));
        if calls.is_empty() {
            let why = "its ground truth has no calls, and BFCL asks nothing of such a turn but what the next ones show";
            notes.push(Note::new(Change::Changed, &format!("turn {}", index + 1), why));
        }
    }
    let classes = items(entry, &["involved_classes"]).iter().filter_map(Value::as_str);
    let mut scenario = Map::new();
    let mut add = |key: &str, value: Value| scenario.insert(key.to_owned(), value);
    add("name", format!("BFCL {id}").into());
    add("tags", json!(["bfcl", category_of(id)]));
    add("description", format!("With {}.", classes.collect::<Vec<_>>().join(" and ")).into());
    add("environment", json!({"type": "local"}));
    add("world", json!({"command": ["python3", WORLD_FILE, id]}));
    add(
        "agent",
        json!({"instructions": "Call the functions that the user's request needs.", "max_rounds": ROUNDS}),
    );
    add("run", steps.into());
    add("judgment", json!({"strategy": "all_pass"}));
    let name = PathBuf::from(format!("{}.scenario.yaml", file_name(id)));
    let heading = format!(
        "# Entry {id} of BFCL, written by `rehearse import --bfcl`. `{}` says what is not as it was there.\n",
        crate::REPORT_FILE
    );
    (TaskReport { task: id.to_owned(), file: Some(name), notes }, Some(heading + &yaml::document(&scenario)))
}

/// A turn of the user. One without a message gives the functions that were withheld until then.
fn step(messages: &[&str], evaluations: &[Value]) -> Value {
    if messages.is_empty() {
        return json!({"conversation": {
            "max_turns": 2,
            "user": {"script": [{"call": MORE}, MORE_FUNCTIONS]},
            "final_evaluations": evaluations,
        }});
    }
    json!({"input": messages.join("\n"), "evaluations": evaluations})
}

/// What has to hold after a turn whose ground truth has calls: there was one, the objects are as the ground truth leaves
/// them, and every answer that it gets was got, in this turn or an earlier one.
fn evaluations(turn: usize, reference: &[Value]) -> Vec<Value> {
    let answered = format!("world.answered.turn_{turn}");
    vec![
        json!({"type": "event_count", "event": "tool_call", "min_count": 1}),
        json!({"type": "world_state", "after": reference, "allow_errors": true}),
        json!({"type": "state", "matches": {answered: {"$size": 0}}}),
    ]
}
