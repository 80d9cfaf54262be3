//! Evaluations, each type with its own keys: from the list of evaluators.

use rehearsal_metrics::evaluator::{KINDS, LooksAt};
use serde_json::{Value, json};

use super::{Definition, either};

/// Every type by its name, and what can be asked where.
pub(super) fn definitions() -> Vec<Definition> {
    let place = |description: &str, groups: &[LooksAt]| {
        let kinds = KINDS.iter().filter(|kind| groups.contains(&kind.looks_at));
        let forms: Vec<Value> = kinds.map(|kind| json!({"$ref": format!("#/$defs/{}", kind.name)})).collect();
        either(description, &forms)
    };
    let (reply, agent) = (LooksAt::Reply, LooksAt::Agent);
    let (environment, conversation) = (LooksAt::Environment, LooksAt::Conversation);
    let mut definitions = vec![
        ("turn_evaluation", place("Something that is asked of a turn.", &[reply, agent])),
        (
            "input_evaluation",
            place("Something that is asked of a step that says something.", &[reply, agent, environment]),
        ),
        (
            "code_evaluation",
            place("Something that is asked of a step that runs code.", &[reply, environment]),
        ),
        (
            "conversation_evaluation",
            place("Something that is asked of a conversation.", &[reply, agent, environment, conversation]),
        ),
    ];
    definitions.extend(KINDS.iter().map(|kind| (kind.name, kind.schema())));
    definitions
}
