//! Artifacts that agents elsewhere save: events on the ledger, the small ones with their content.

use rehearsal_core::{ArtifactSaved, EventBody, Part, PartData};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::{Kind, Problem};

/// An artifact of more bytes is kept without its content.
const MOST_BYTES: usize = 1 << 20;
/// The longest name that is taken.
const LONGEST_NAME: usize = 1024;

/// An artifact that an agent saved.
#[derive(Clone, Debug, PartialEq, Deserialize, ToSchema)]
pub struct Artifact {
    /// What it is called.
    #[schema(min_length = 1, max_length = 1024)]
    pub name: String,
    /// Its version, from 0.
    pub version: u64,
    /// The call of the tool that saved it.
    #[serde(default, rename = "call_id")]
    pub call: Option<String>,
    /// What kind of content it has.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// How many bytes it has.
    #[serde(default)]
    pub size: Option<u64>,
    /// Why the content is not here.
    #[serde(default)]
    pub left_out: Option<String>,
    /// The content, as a part of Gemini's. Of more than 1 MiB it is left out.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub part: Option<Part>,
}

/// The event of an artifact.
pub(super) fn saved(artifact: &Artifact) -> Result<EventBody, Problem> {
    if artifact.name.is_empty() || artifact.name.len() > LONGEST_NAME {
        let detail = format!("an artifact's `name` has between 1 and {LONGEST_NAME} bytes");
        return Err(Problem::invalid(Kind::InvalidBody, detail));
    }
    let Artifact { name, version, call, mime_type, size, left_out, part } = artifact.clone();
    let mut kept = ArtifactSaved { name, version, call, mime_type, size, left_out, part };
    if kept.part.as_ref().is_some_and(|part| bytes_of(part) > MOST_BYTES) {
        kept.part = None;
        kept.left_out =
            Some(format!("only artifacts of at most {MOST_BYTES} bytes are kept with their content"));
    }
    Ok(EventBody::ArtifactSaved(Box::new(kept)))
}

/// About how many bytes a content has, without reading it.
fn bytes_of(part: &Part) -> usize {
    match &part.data {
        PartData::Text(text) => text.len(),
        PartData::InlineData(blob) => blob.data.len() / 4 * 3,
        _ => 0,
    }
}
