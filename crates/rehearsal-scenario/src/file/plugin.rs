//! Plugins of the agent in a scenario file.

use serde_json::Map;

use super::keys::PLUGIN;
use super::{AgentUnderTest, Plugin, Reached};
use crate::read::{Dialect, Fields, Reader};
use crate::yaml::{Node, NodeValue};
use crate::{Problem, Severity};

pub(super) fn read_all(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    agent: Option<&AgentUnderTest>,
) -> Vec<Plugin> {
    let mut plugins: Vec<Plugin> = Vec::new();
    for node in fields.list(reader, "plugins") {
        let Some(plugin) = read(reader, node) else { continue };
        if plugins.iter().any(|other| other.name == plugin.name) {
            let message = format!("plugin `{}` is listed twice", plugin.name);
            reader.report(Problem::error("duplicate", node.span.clone(), message).help("remove one of them"));
        }
        plugins.push(plugin);
    }
    if let (
        Some(AgentUnderTest { reached: Reached::Inline(_) | Reached::Chat { .. }, .. }),
        Some(place),
        false,
    ) = (agent, fields.key_span("plugins"), plugins.is_empty())
    {
        let message = "plugins are handed to `http` and `command` agents; this agent takes none";
        reader.report(Problem { severity: Severity::Warning, ..Problem::error("no-effect", place, message) });
    }
    plugins
}

fn read(reader: &mut Reader<'_>, node: &Node) -> Option<Plugin> {
    if let NodeValue::Text(name) = &node.value {
        report_name(reader, node, name);
        return Some(Plugin { name: name.clone(), version: None, enabled: true, config: Map::new() });
    }
    let mut fields = reader.fields(node, "a plugin", &PLUGIN)?;
    let plugin = Plugin {
        name: fields.text(reader, "name").unwrap_or_default(),
        version: fields.text(reader, "version"),
        enabled: fields.boolean(reader, "enabled").unwrap_or_default(),
        config: fields.json_map(reader, "config").unwrap_or_default(),
    };
    if let Some(node @ Node { value: NodeValue::Text(_), .. }) = fields.get("name") {
        report_name(reader, node, &plugin.name);
    }
    if let (Some(node), Some(version)) = (fields.get("version"), &plugin.version)
        && reader.dialect == Dialect::ElizaOs
        && !is_version(version)
    {
        let message = format!("`{version}` is no version of three numbers");
        reader.report(Problem::error("bad-version", node.span.clone(), message).help("write: 1.0.0"));
    }
    fields.finish(reader);
    Some(plugin)
}

/// The shipped runner takes only plugins of its own scope.
fn report_name(reader: &mut Reader<'_>, node: &Node, name: &str) {
    let own = name.strip_prefix("@elizaos/plugin-");
    let fits = own.is_some_and(|rest| {
        !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    if name.trim().is_empty() || (reader.dialect == Dialect::ElizaOs && !fits) {
        let message = format!("`{name}` cannot be the name of a plugin");
        let problem = Problem::error("bad-plugin", node.span.clone(), message);
        reader.report(problem.help("write: \"@elizaos/plugin-bootstrap\""));
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
