//! Ids that come in and ids that are made here.

use rehearsal_core::SessionId;
use uuid::{Uuid, Variant, Version};

use crate::{Kind, Problem};

pub(crate) use rehearsal_store::new_id as fresh;

/// The id as it is kept, if it is a `UUIDv4`.
pub(crate) fn uuid4(what: &str, text: &str) -> Result<String, Problem> {
    match Uuid::parse_str(text) {
        Ok(id)
            if id.get_version() == Some(Version::Random)
                && id.get_variant() == Variant::RFC4122
                && text.len() == 36 =>
        {
            Ok(id.to_string())
        }
        _ => Err(Problem::invalid(
            Kind::InvalidId,
            format!(
                "`{}` is no {what}: it must be a UUIDv4 such as `{}`",
                clip(text),
                Uuid::from_u128(EXAMPLE)
            ),
        )),
    }
}

const EXAMPLE: u128 = 0x3f2a_4b1c_9d8e_4c7a_a5b6_0c1d_2e3f_4a5b;

/// A session's id, if it is one.
pub(crate) fn session(text: &str) -> Result<SessionId, Problem> {
    uuid4("session id", text).map(SessionId::new)
}

/// An agent's name: some text, at most 100 characters.
pub(crate) fn agent(name: &str) -> Result<&str, Problem> {
    let count = name.chars().count();
    if name.trim().is_empty() || count > 100 {
        let found = if name.trim().is_empty() { "it is empty".to_owned() } else { format!("it has {count}") };
        return Err(Problem::invalid(
            Kind::InvalidAgentName,
            format!("an agent's name has 1 to 100 characters; {found}"),
        ));
    }
    Ok(name)
}

/// The beginning of a text that may be long.
pub(crate) fn clip(text: &str) -> String {
    rehearsal_core::shorten(text, 60)
}
