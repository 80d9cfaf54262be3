//! Values of the environment in the places of a scenario that take them: `${env.NAME}`.
//!
//! They are filled in when its cases are made, and hidden in all that is said afterwards. The scenario itself keeps what
//! its file says, so that nothing that shows it can show them. `$${env.NAME}` stands for the characters themselves.

use std::ops::Range;

use serde_json::Value;

use crate::{
    AgentUnderTest, CommandLine, CompileError, Implementation, ModelChoice, Reached, Scenario, WorldReached,
};

/// The variables that a text names, each with its place in it.
pub(crate) fn names(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.match_indices("${env.").filter_map(|(at, mark)| {
        if text[..at].ends_with('$') {
            return None;
        }
        let from = at + mark.len();
        let length = text[from..].find('}')?;
        Some((&text[from..from + length], at..from + length + 1))
    })
}

/// A text with its variables filled in.
pub(crate) fn filled(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, CompileError> {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${env.") {
        if let Some(before) = before.strip_suffix('$') {
            made.push_str(before);
            made.push_str("${env.");
            rest = after;
            continue;
        }
        let (name, after) = after.split_once('}').ok_or(CompileError::UnclosedHeader)?;
        made.push_str(before);
        made.push_str(&variable(name).ok_or_else(|| CompileError::UnsetHeader { name: name.to_owned() })?);
        rest = after;
    }
    made.push_str(rest);
    Ok(made)
}

/// Whether a text has something to fill in.
fn is_open(text: &str) -> bool {
    text.contains("${env.")
}

impl Scenario {
    /// The texts in which variables are filled in when its cases are made, but for headers.
    fn open_texts(&mut self, of_tools: bool) -> Vec<&mut String> {
        let mut texts: Vec<&mut String> = Vec::new();
        if let Some(AgentUnderTest { reached, tools, .. }) = &mut self.agent {
            match reached {
                Reached::Chat { specification, server } => {
                    texts.push(specification);
                    texts.extend(server.iter_mut().flat_map(|server| words(&mut server.command)));
                }
                Reached::Http(endpoint) => {
                    texts.push(&mut endpoint.url);
                    endpoint.request.iter_mut().for_each(|request| texts_of(request, &mut texts));
                    texts.extend(endpoint.server.iter_mut().flat_map(|server| words(&mut server.command)));
                }
                Reached::Command(command) => texts.extend(words(command)),
                Reached::Inline(_) | Reached::Socket(_) => {}
            }
            // What a tool needs is filled in where it runs for real, and nobody need have it where it is mocked.
            for tool in tools.iter_mut().filter(|_| of_tools) {
                match &mut tool.implementation {
                    Some(Implementation::Command(command)) => texts.extend(words(command)),
                    Some(Implementation::Http { url, .. }) => texts.push(url),
                    None => {}
                }
            }
        }
        match self.world.as_mut().map(|world| &mut world.reached) {
            Some(WorldReached::Command(command) | WorldReached::McpCommand { command, .. }) => {
                texts.extend(words(command));
            }
            Some(WorldReached::McpUrl { url, .. }) => texts.push(url),
            None => {}
        }
        texts.extend(self.variables.iter_mut().filter_map(|variable| variable.value.as_mut()));
        texts.extend(self.setup.seed.iter_mut().flat_map(words));
        texts.extend(self.models.iter_mut().filter_map(|named| match &mut named.model {
            ModelChoice::Provider(specification) => Some(specification),
            _ => None,
        }));
        texts
    }

    /// The variables of the environment that its texts name, but for headers.
    pub(crate) fn open_names(&self) -> Vec<String> {
        // Nothing is changed by looking, and few scenarios have any.
        let mut copy = self.clone();
        let texts = copy.open_texts(true);
        let names =
            texts.iter().flat_map(|text| names(text).map(|(name, _)| name.to_owned()).collect::<Vec<_>>());
        names.collect()
    }

    /// The same scenario with its variables filled in; nothing where it has none.
    pub(crate) fn filled(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, CompileError> {
        let mut copy = self.clone();
        let mut changed = false;
        for text in copy.open_texts(false) {
            if is_open(text) {
                *text = filled(text, variable)?;
                changed = true;
            }
        }
        Ok(changed.then_some(copy))
    }
}

/// A command with its variables filled in.
pub(crate) fn filled_command(
    command: &CommandLine,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<CommandLine, CompileError> {
    let mut command = command.clone();
    for word in words(&mut command) {
        *word = filled(word, variable)?;
    }
    Ok(command)
}

fn words(command: &mut CommandLine) -> Vec<&mut String> {
    match command {
        CommandLine::Shell(line) => vec![line],
        CommandLine::Words(words) => words.iter_mut().collect(),
    }
}

fn texts_of<'v>(value: &'v mut Value, texts: &mut Vec<&'v mut String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts_of(item, texts)),
        Value::Object(fields) => fields.values_mut().for_each(|value| texts_of(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_filled_in_and_escaped() {
        let variable = |name: &str| (name == "A").then(|| "one".to_owned());
        assert_eq!(filled("x ${env.A} $${env.A} ${port}", &variable).unwrap(), "x one ${env.A} ${port}");
        assert!(filled("${env.B}", &variable).unwrap_err().to_string().contains("`${env.B}`"));
        assert!(filled("${env.A", &variable).is_err());
        let found: Vec<&str> = names("${env.A} $${env.B} ${env.C").map(|(name, _)| name).collect();
        assert_eq!(found, ["A"]);
    }
}
