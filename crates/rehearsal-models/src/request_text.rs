//! What a model was asked, shortened for people who read an error.

use rehearsal_core::{Content, ModelRequest, Part, PartData, Role};

use crate::shorten::shorten;

/// How many of the last messages are shown.
const SHOWN: usize = 12;

/// How much of each text is shown, in characters.
const LENGTH: usize = 200;

/// The instructions and the last messages.
pub(crate) fn whole(request: &ModelRequest) -> String {
    let mut lines = Vec::new();
    if let Some(system) = &request.setup.system {
        lines.push(format!("  system: {}", one_line(system)));
    }
    let skipped = request.contents.len().saturating_sub(SHOWN);
    if skipped > 0 {
        lines.push(format!("  … {skipped} messages before"));
    }
    lines.extend(request.contents[skipped..].iter().map(|said| format!("  {}", content(said))));
    if request.contents.is_empty() {
        lines.push("  nothing was said".to_owned());
    }
    format!("request:\n{}", lines.join("\n"))
}

/// The last message.
pub(crate) fn last(request: &ModelRequest) -> String {
    match request.contents.last() {
        Some(said) => format!("asked last:\n  {}", content(said)),
        None => "nothing was said".to_owned(),
    }
}

/// One message on one line.
pub(crate) fn content(content: &Content) -> String {
    let role = content.role.as_ref().map_or("user", Role::as_str);
    let parts: Vec<_> = content.parts.iter().map(part).collect();
    format!("{role}: {}", if parts.is_empty() { "(nothing)".to_owned() } else { parts.join(" | ") })
}

fn part(part: &Part) -> String {
    match &part.data {
        PartData::Text(text) if part.thought => format!("(thinks) {}", one_line(text)),
        PartData::Text(text) => one_line(text),
        PartData::FunctionCall(call) => {
            format!("calls {} {}", call.name, one_line(&json(&call.args)))
        }
        PartData::FunctionResponse(response) => {
            format!("{} gives {}", response.name, one_line(&json(&response.response)))
        }
        PartData::InlineData(blob) => format!("({})", blob.mime_type.as_deref().unwrap_or("data")),
        PartData::FileData(file) => format!("({})", one_line(&file.file_uri)),
        _ => format!("({})", part.extra.keys().cloned().collect::<Vec<_>>().join(", ")),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    rehearsal_core::json::to_string(value).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    shorten(&text.replace('\n', " ⏎ "), LENGTH)
}
