//! Whether the user said something new.

use std::sync::Arc;

use rehearsal_core::{Content, ModelRequest, Part, PartData, Role};

use super::runs::Runs;

/// How the ADK begins a content in which it tells an agent what another one said or did.
const ABOUT_OTHERS: &str = "For context:";

/// The message that begins a new run, if the request shows one. On a session's first request there always is one, an
/// empty one where the contents have none, so that every history begins with what was asked.
pub(super) fn new_message(
    runs: &Runs<'_>,
    agent: &str,
    earlier: Option<&ModelRequest>,
    request: &ModelRequest,
) -> Option<Arc<Content>> {
    let contents = &request.contents;
    let begin = contents.iter().rposition(|content| is_reaction(content)).map_or(0, |at| at + 1);
    let unanswered = contents[begin..].iter().rfind(|content| is_message(content));
    let Some(run) = runs.current() else {
        let last = unanswered.or_else(|| contents.iter().rfind(|content| is_message(content)));
        return Some(last.cloned().unwrap_or_else(|| Arc::new(Content::new(Role::User, Vec::new()))));
    };
    let said = unanswered?;
    let is_new = if run.message != Some(said) {
        true
    } else if run.ended_by.is_some_and(|speaker| **speaker == *agent) {
        // It had its last word on this message, so it is asked the same once more.
        true
    } else {
        let times = |contents: &[Arc<Content>]| contents.iter().filter(|content| *content == said).count();
        let known = match earlier {
            Some(earlier) => times(&earlier.contents),
            None => runs.said.iter().filter(|content| **content == said).count(),
        };
        times(contents) > known
    };
    is_new.then(|| said.clone())
}

/// Something the user said: text or data, and no tool's results.
fn is_message(content: &Content) -> bool {
    matches!(content.role, None | Some(Role::User))
        && content.parts.iter().any(says_something)
        && !is_reaction(content)
}

/// What comes after a message was heard: the model's words, tools' results, what other agents said or did.
fn is_reaction(content: &Content) -> bool {
    content.role == Some(Role::Model)
        || content.responses().next().is_some()
        || content.calls().next().is_some()
        || content.parts.first().and_then(Part::as_text) == Some(ABOUT_OTHERS)
}

fn says_something(part: &Part) -> bool {
    match &part.data {
        PartData::Text(text) => !text.is_empty(),
        PartData::InlineData(_) | PartData::FileData(_) => true,
        _ => false,
    }
}
