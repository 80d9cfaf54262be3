//! What is not as it was in tau2-bench.

use serde_json::Value;

use super::basis;
use crate::read::{at, items};
use crate::report::{Change, Note};

/// What holds for every task.
pub(super) fn every_task() -> Vec<Note> {
    vec![
        Note::new(
            Change::Changed,
            "the words around the policy",
            "the policy is the original's, word for word; the sentence before it is ours",
        ),
        Note::new(
            Change::Changed,
            "the opening",
            "the user speaks first, told by the original's guidelines and scenario; the message that asks it to begin is not sent",
        ),
        Note::new(
            Change::Changed,
            "the limit of steps",
            "100 messages of the user and 200 rounds of the agent for each, where tau2 counts 200 steps in all",
        ),
        Note::new(
            Change::Changed,
            "the comparison of the database",
            "the records that differ from the data as shipped are compared, and which they are is said; tau2 compares a hash of all records and says yes or no",
        ),
        Note::new(
            Change::Changed,
            "ids that tools make up",
            "they come from the case's seed, so that the reference makes up the same ones",
        ),
        Note::new(
            Change::Lost,
            "names of the tools' types",
            "arguments are checked against the schema that the original's signatures give, and wrong ones are told to the model before the tool sees them",
        ),
    ]
}

/// What holds for one of them.
pub(super) fn of_task(task: &Value) -> Vec<Note> {
    let mut notes = Vec::new();
    if !at(task, &["ticket"]).is_null() {
        let why = "the task's text for an agent that works without a user, which is another way to run it";
        notes.push(Note::new(Change::Lost, "`ticket`", why));
    }
    if !at(task, &["annotations"]).is_null() {
        notes.push(Note::new(Change::Lost, "`annotations`", "notes of the authors, which nothing reads"));
    }
    let basis = basis(task);
    if !basis.contains(&"DB") {
        let why = format!(
            "tau2's reward for this task looks at {} only; here the final state is compared with the reference too, so that a write too much fails",
            basis.join(" and ")
        );
        notes.push(Note::new(Change::Stricter, "the final state", why));
    }
    let informed = items(task, &["evaluation_criteria", "communicate_info"]);
    if !informed.is_empty() && !basis.contains(&"COMMUNICATE") {
        let why = "tau2's reward for this task does not look at them";
        notes.push(Note::new(Change::Stricter, "what has to be communicated", why));
    }
    notes
}
