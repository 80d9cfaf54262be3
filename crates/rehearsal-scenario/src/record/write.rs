//! The file: YAML as people would write it.

use std::fmt::Write as _;

use rehearsal_core::ToolOutcome;
use serde_json::{Map, Value};

use super::{Answer, Mock, Session, Step};

/// How much of a reply a remark shows, in characters.
const SHOWN: usize = 500;

/// The longest name of a scenario's agent.
const LONGEST_NAME: usize = crate::file::keys::LONGEST_NAME;

pub(super) fn file(session: &Session, schema: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(schema) = schema {
        let _ = writeln!(out, "# yaml-language-server: $schema={schema}\n");
    }
    let _ = writeln!(
        out,
        "# Made from session {}: what was said, what the tools gave and what was called are its own.",
        session.id
    );
    for loss in &session.losses {
        remark(&mut out, "", &format!("Mind: {loss}."));
    }
    let _ = writeln!(out, "\nname: {}", text(&session.name, 0));
    let _ = writeln!(out, "description: {}", text(&session.about, 0));
    out.push_str("tags: [recorded]\n\n");
    agent(&mut out, session);
    models(&mut out, session);
    out.push_str("environment:\n  type: local\n\n");
    setup(&mut out, session);
    out.push_str("run:\n");
    for step in &session.steps {
        if !step.said.is_empty() {
            run(&mut out, session, step);
        }
    }
    out.push_str("\njudgment:\n  strategy: all_pass\n");
    out
}

fn agent(out: &mut String, session: &Session) {
    let setup = &session.setup;
    out.push_str("agent:\n");
    if (1..=LONGEST_NAME).contains(&session.agent.chars().count()) {
        let _ = writeln!(out, "  name: {}", text(&session.agent, 2));
    }
    if session.model.is_none() {
        out.push_str(
            "  # It ran elsewhere. To test it there, reach it by `http`, `chat` or `command` instead.\n",
        );
    }
    let _ = writeln!(out, "  instructions: {}", text(setup.system.as_deref().unwrap_or_default(), 2));
    if let Some(temperature) = setup.settings.temperature {
        let _ = writeln!(out, "  temperature: {temperature}");
    }
    if let Some(most) = setup.settings.max_tokens {
        let _ = writeln!(out, "  max_tokens: {most}");
    }
    if let Some(schema) = &setup.output_schema {
        let _ = writeln!(out, "  output_schema: {}", flow(schema));
    }
    if !setup.tools.is_empty() {
        out.push_str("  tools:\n");
    }
    for tool in &setup.tools {
        let _ = writeln!(out, "    - name: {}", text(&tool.name, 6));
        if !tool.description.is_empty() {
            let _ = writeln!(out, "      description: {}", text(&tool.description, 6));
        }
        if session.model.is_some() {
            let _ = writeln!(out, "      parameters: {}", flow(&tool.parameters));
        }
        if let Some(output) = &tool.output {
            let _ = writeln!(out, "      output: {}", flow(output));
        }
    }
    out.push('\n');
}

fn models(out: &mut String, session: &Session) {
    out.push_str("# These are the answers that were recorded, so that the file passes as it is. To ask the agent's model\n");
    out.push_str("# each time, write its provider and name here instead");
    match session.model.as_deref().filter(|model| !model.is_empty()) {
        Some(model) => {
            let _ = writeln!(out, " (it was {}):", flow(&model.into()));
        }
        None => out.push_str(":\n"),
    }
    out.push_str("#   agent: openai:gpt-4o-mini\nmodels:\n  agent:\n    script:");
    if session.script.is_empty() {
        out.push_str(" []");
    }
    out.push('\n');
    for answer in &session.script {
        said(out, answer);
    }
    out.push('\n');
}

fn said(out: &mut String, answer: &Answer) {
    let mut lead = "      - ";
    if !answer.text.is_empty() || answer.calls.is_empty() {
        let _ = writeln!(out, "{lead}say: {}", text(&answer.text, 8));
        lead = "        ";
    }
    if !answer.calls.is_empty() {
        let _ = writeln!(out, "{lead}calls:");
        for (tool, args) in &answer.calls {
            let _ = writeln!(out, "          - {}", call(tool, "args", args));
        }
    }
    if answer.is_invalid {
        out.push_str("        invalid: true\n");
    }
}

fn setup(out: &mut String, session: &Session) {
    if session.mocks.is_empty() && session.state.is_empty() {
        return;
    }
    out.push_str("setup:\n");
    if !session.state.is_empty() {
        let _ = writeln!(out, "  state: {}", flow(&Value::Object(session.state.clone())));
    }
    if !session.mocks.is_empty() {
        out.push_str("  # What the tools gave. A call that is none of these ends the scenario: no tool runs for real.\n  mocks:\n");
    }
    for mock in &session.mocks {
        played(out, mock);
    }
    out.push('\n');
}

fn played(out: &mut String, mock: &Mock) {
    let dotted =
        mock.tool.rsplit_once('.').filter(|(service, method)| !service.is_empty() && !method.is_empty());
    match dotted {
        Some((service, method)) => {
            let _ = writeln!(out, "    - service: {}\n      method: {}", text(service, 6), text(method, 6));
        }
        None => {
            let _ = writeln!(out, "    - method: {}", text(&mock.tool, 6));
        }
    }
    out.push_str("      when:\n");
    if mock.args.is_empty() {
        out.push_str("        args: [{}]\n");
    } else {
        let _ = writeln!(out, "        input: {}", flow(&Value::Object(mock.args.clone())));
    }
    if let Some((step, turn)) = mock.place {
        let _ = writeln!(out, "        context: {{step: {step}, turn: {turn}}}");
    }
    match &mock.given.outcome {
        ToolOutcome::Output(value) => {
            let _ = writeln!(out, "      response: {}", flow(value));
        }
        ToolOutcome::Error(error) => {
            let _ = write!(
                out,
                "      error: {{code: {}, message: {}",
                quoted(&error.kind),
                quoted(&error.message)
            );
            if let Some(status) = &error.status {
                let _ = write!(out, ", status: {status}");
            }
            out.push_str("}\n");
        }
    }
    if !mock.given.changes.is_empty() {
        let _ = writeln!(out, "      state: {}", flow(&Value::Object(mock.given.changes.clone())));
    }
}

fn run(out: &mut String, session: &Session, step: &Step) {
    let mut lead = "  - ";
    if let Some(name) = &step.name {
        let _ = writeln!(out, "{lead}name: {}", text(name, 4));
        lead = "    ";
    }
    if step.is_conversation {
        let turns = (step.said.len() + usize::from(step.agent_opens) + 1).max(2);
        let _ = writeln!(out, "{lead}conversation:\n      max_turns: {turns}");
        if step.agent_opens {
            out.push_str("      opening: agent\n");
        }
        out.push_str("      user:\n        script:\n");
        for message in &step.said {
            let _ = writeln!(out, "          - {}", text(message, 10));
        }
        if let Some(farewell) = &step.farewell {
            let _ = writeln!(out, "          - hang_up: {}", text(farewell, 12));
        }
    } else {
        let _ = writeln!(out, "{lead}input: {}", text(step.said.first().map_or("", String::as_str), 4));
    }
    out.push_str("    evaluations:\n");
    let calls: Vec<_> = step.calls.iter().filter(|(tool, _)| session.has_tool(tool)).collect();
    if calls.is_empty() {
        out.push_str("      # It called no tool. Ask here for what its answer must have.\n");
        out.push_str("      - type: regex_match\n        pattern: '\\S'\n        description: It answers\n");
    } else {
        out.push_str("      - type: trajectory\n        mode: in_order\n        calls:\n");
        for (tool, args) in calls {
            let _ = writeln!(out, "          - {}", call(tool, "args", &compared(args)));
        }
    }
    for reply in &step.replies {
        let cut = if reply.chars().count() > SHOWN { "…" } else { "" };
        let shown: String = reply.chars().take(SHOWN).collect();
        remark(out, "      ", &format!("It answered: {shown}{cut}"));
    }
}

/// Arguments as they are compared: what looks like a query is none.
fn compared(args: &Map<String, Value>) -> Map<String, Value> {
    let mean = |value: &Value| match value {
        value if has_operators(value) => Value::Object(Map::from_iter([("$eq".to_owned(), value.clone())])),
        value => value.clone(),
    };
    args.iter().map(|(key, value)| (key.clone(), mean(value))).collect()
}

fn has_operators(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| key.starts_with('$') || has_operators(value))
        }
        Value::Array(items) => items.iter().any(has_operators),
        _ => false,
    }
}

fn call(tool: &str, key: &str, args: &Map<String, Value>) -> String {
    let tool = flow(&tool.into());
    if args.is_empty() {
        return format!("{{tool: {tool}}}");
    }
    format!("{{tool: {tool}, {key}: {}}}", flow(&Value::Object(args.clone())))
}

/// Remarks, one for each line of a text.
fn remark(out: &mut String, indent: &str, text: &str) {
    let plain = |c: char| if c.is_control() && c != '\t' || is_break(c) { ' ' } else { c };
    for line in text.lines() {
        let line: String = line.chars().map(plain).collect();
        let _ = writeln!(out, "{indent}# {}", line.trim_end());
    }
}

/// A text where it stands alone behind its key or in a list; `indent` is that of its lines around.
fn text(text: &str, indent: usize) -> String {
    if is_plain(text, " ,.'!?()/+%=_-;$€\"") {
        return text.to_owned();
    }
    let odd = |c: char| c != '\n' && (c.is_control() || is_break(c));
    let fits_block = text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && !text.contains(odd)
        && text.lines().all(|line| line.trim_end() == line);
    if !fits_block {
        return quoted(text);
    }
    let mut block = String::from(if text.ends_with('\n') { "|" } else { "|-" });
    for line in text.lines() {
        block.push('\n');
        if !line.is_empty() {
            block.push_str(&" ".repeat(indent + 2));
            block.push_str(line);
        }
    }
    block
}

/// A value on one line.
fn flow(value: &Value) -> String {
    if rehearsal_core::json::is_number(value) {
        return rehearsal_core::json::text(value);
    }
    match value {
        Value::String(text) if is_plain(text, " ._-") => text.clone(),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let entry = |(key, value): (&String, &Value)| {
                let key = if is_plain(key, "_") { key.clone() } else { quoted(key) };
                format!("{key}: {}", flow(value))
            };
            format!("{{{}}}", fields.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => rehearsal_core::json::text(other),
    }
}

/// Whether a text can stand without quotes: letters and digits, and of other characters these.
fn is_plain(text: &str, others: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.chars().all(|c| c.is_alphanumeric() || others.contains(c))
        && !WORDS.contains(&text.to_lowercase().as_str())
}

/// A text in double quotes, which YAML reads as JSON does; what YAML would take for the end of a line is escaped.
fn quoted(text: &str) -> String {
    let written = rehearsal_core::json::text(&text.into());
    let mut out = String::with_capacity(written.len());
    for c in written.chars() {
        if is_break(c) || c.is_control() {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// What is no control character, and yet none that a line of YAML can have.
fn is_break(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}
