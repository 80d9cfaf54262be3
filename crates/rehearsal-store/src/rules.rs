//! Rules of what is kept: those checked here, and the words for those the database checks.

use rehearsal_core::{Event, EventBody, SessionId};
use uuid::{Uuid, Variant, Version};

use crate::db::DbError;
use crate::{NewEvent, SessionSource, StoreError, Write};

/// The longest description, in characters.
const DESCRIPTION: usize = 500;

/// Whether events of the session came over the wire, where every id is a UUIDv4.
pub(crate) fn is_wire(source: SessionSource) -> bool {
    matches!(source, SessionSource::Api | SessionSource::Adksim)
}

/// Whether the text is a UUIDv4 in its usual form, with hyphens.
pub(crate) fn is_uuid_v4(text: &str) -> bool {
    text.len() == 36
        && Uuid::try_parse(text)
            .is_ok_and(|id| id.get_version() == Some(Version::Random) && id.get_variant() == Variant::RFC4122)
}

/// The description as it is kept.
pub(crate) fn cut(description: &str) -> &str {
    match description.char_indices().nth(DESCRIPTION) {
        Some((end, _)) => &description[..end],
        None => description,
    }
}

/// What holds of a write whatever the session: numbers without a gap, objects where objects are kept, and no NUL,
/// which PostgreSQL cannot keep.
pub(crate) fn check_write(write: &Write) -> Result<(), StoreError> {
    for (expected, new) in (write.after + 1..).zip(&write.events) {
        if new.event.seq != expected {
            return Err(StoreError::Refused(format!(
                "event `{}` has number {}, but the next one of session `{}` is {expected}",
                new.event_id, new.event.seq, write.session
            )));
        }
        no_nul("the id of an event", &new.event_id)?;
        no_nul("the author of an event", &new.event.author)?;
    }
    no_nul("a session's id", write.session.as_str())?;
    if let Some(agent) = &write.agent {
        no_nul("an agent's name", agent)?;
    }
    if let Some(new) = &write.create {
        no_nul("a description", new.description.as_deref().unwrap_or(""))?;
        no_nul("an agent's name", new.agent.as_deref().unwrap_or(""))?;
    }
    let metas = [write.meta.as_ref(), write.create.as_ref().map(|new| &new.meta)];
    if metas.into_iter().flatten().any(|meta| !meta.is_object() && !meta.is_null()) {
        return Err(StoreError::Refused(format!(
            "what is kept with session `{}` is no object",
            write.session
        )));
    }
    Ok(())
}

fn no_nul(what: &str, text: &str) -> Result<(), StoreError> {
    if text.contains('\0') {
        return Err(StoreError::Refused(format!("{what} must not contain the character NUL: {text:?}")));
    }
    Ok(())
}

/// What holds of sessions that came over the wire: their ids, and those of their events and turns.
pub(crate) fn check_wire_ids(session: &SessionId, events: &[NewEvent]) -> Result<(), StoreError> {
    must_be_uuid("a session", session.as_str())?;
    for new in events {
        must_be_uuid("an event", &new.event_id)?;
        if let Some(turn) = &new.event.turn {
            must_be_uuid("a turn", turn.as_str())?;
        }
    }
    Ok(())
}

fn must_be_uuid(what: &str, id: &str) -> Result<(), StoreError> {
    if is_uuid_v4(id) {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "the id of {what} must be a UUIDv4, such as 5b0e7a9c-3f51-4f0e-9d55-0d9f6a1c2b3d; `{id}` is none"
    )))
}

/// What is wrong when the database refused an event.
pub(crate) fn event_refused(error: DbError, session: &SessionId, new: &NewEvent) -> StoreError {
    let DbError::Rule(rule) = error else { return error.into() };
    let Event { seq, author, turn, body, .. } = &*new.event;
    let kind = body.kind();
    let turn = turn.as_ref().map_or("", |turn| turn.as_str());
    let call = call_of(body).unwrap_or("");
    let why = match rule.as_str() {
        "events_pkey" => return StoreError::Exists { what: "event", id: new.event_id.clone() },
        "events_after_end" => format!(
            "session `{session}` has ended; only what stands beside the conversation can follow, not `{kind}`"
        ),
        "events_before_query" => {
            format!(
                "session `{session}` begins with what the user says; `{kind}` comes before any `user_message`"
            )
        }
        "events_gap" | "events_seq" | "events_seq_positive" => {
            format!("event {seq} does not follow the last one of session `{session}`")
        }
        "events_unknown_turn" => {
            format!("a response names turn `{turn}`, which session `{session}` does not have")
        }
        "events_unknown_call" => {
            format!("a result names call `{call}`, which session `{session}` does not have")
        }
        "events_request_turn" => "a model request must name its turn".to_owned(),
        "events_agent_name" => format!(
            "the author of an event has 1 to 100 characters, not {}: {author:?}",
            author.chars().count()
        ),
        "events_payload_kind" => {
            format!(
                "the payload of a `{kind}` event is neither a request nor a response, as this one's type says"
            )
        }
        "events_turn" if kind == "model_request" => format!("model turn `{turn}` has a request already"),
        "events_turn" => format!("model turn `{turn}` has a response already"),
        "events_call" if kind == "tool_call" => {
            format!("call id `{call}` is used twice in session `{session}`")
        }
        "events_call" => format!("call `{call}` has a result already; what comes late is kept as a note"),
        _ => return DbError::Rule(rule).into(),
    };
    StoreError::Refused(why)
}

/// The call that an event makes or answers.
pub(crate) fn call_of(body: &EventBody) -> Option<&str> {
    match body {
        EventBody::ToolCall { call, .. } => Some(call.as_str()),
        EventBody::ToolResult(result) => Some(result.call.as_str()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_random_uuids_in_their_usual_form_are_uuid_v4() {
        for good in ["5b0e7a9c-3f51-4f0e-9d55-0d9f6a1c2b3d", "5B0E7A9C-3F51-4F0E-9D55-0D9F6A1C2B3D"] {
            assert!(is_uuid_v4(good), "{good}");
        }
        for bad in [
            "",
            "s-1",
            "5b0e7a9c3f514f0e9d550d9f6a1c2b3d",
            "{5b0e7a9c-3f51-4f0e-9d55-0d9f6a1c2b3d}",
            "5b0e7a9c-3f51-1f0e-9d55-0d9f6a1c2b3d",
            "5b0e7a9c-3f51-4f0e-1d55-0d9f6a1c2b3d",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert!(!is_uuid_v4(bad), "{bad}");
        }
    }

    #[test]
    fn a_description_is_cut_by_characters() {
        let long = "é".repeat(600);
        assert_eq!(cut(&long).chars().count(), 500);
        assert_eq!(cut("short"), "short");
    }
}
