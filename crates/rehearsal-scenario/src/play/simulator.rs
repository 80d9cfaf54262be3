//! The simulated user: what it is told, and what counts as falling out of its role.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use rehearsal_agent::{AgentRef, History, LlmAgent, Model, ToolRef};
use rehearsal_core::Settings;

use super::world::Seat;
use crate::file::conversation::speaker;
use crate::{Knowledge, TurnView, UserSimulator};

/// How many turns the simulator is shown whole; of older ones it is shown a line each.
const RECENT_TURNS: usize = 3;

/// How much of each side of an older turn is shown, in characters.
const SUMMARY_LENGTH: usize = 80;

/// The agent that plays a simulated user.
pub(crate) fn agent(
    simulator: &UserSimulator,
    model: Arc<dyn Model>,
    tools: Vec<ToolRef>,
    world: Option<Arc<Seat>>,
) -> AgentRef {
    let settings = Settings {
        temperature: Some(simulator.temperature),
        max_tokens: Some(simulator.max_tokens),
        ..Settings::default()
    };
    let agent = LlmAgent::new("user", model).history(History::Execution).settings(settings).tools(tools);
    let Some(world) = world else { return agent.instruction(instruction(simulator, false)).into() };
    let (told, seat) = (simulator.clone(), world.clone());
    agent
        .instruction_from(move |_| instruction(&told, seat.has_users_tools()))
        .toolset(move |_| world.users_tools())
        .into()
}

fn instruction(simulator: &UserSimulator, has_more_tools: bool) -> String {
    match &simulator.instructions {
        None => usual(simulator, has_more_tools),
        Some(text) => speaker::fill(text, |name| match name {
            "persona" => simulator.persona.clone(),
            "objective" => simulator.objective.clone(),
            "style" => simulator.style.clone().unwrap_or_default(),
            "emotional_state" => simulator.emotional_state.clone().unwrap_or_default(),
            "knowledge_level" => known(simulator.knowledge_level).to_owned(),
            "constraints" => listed(&simulator.constraints),
            _ => simulator.stop.join(" or "),
        }),
    }
}

fn known(level: Knowledge) -> &'static str {
    match level {
        Knowledge::Beginner => "little; you may misunderstand words of the trade",
        Knowledge::Intermediate => "something; you know the common words",
        Knowledge::Expert => "a lot; you use the words of the trade precisely",
    }
}

fn listed(constraints: &[String]) -> String {
    constraints.iter().map(|constraint| format!("- {constraint}")).collect::<Vec<_>>().join("\n")
}

/// What the model of a simulated user is told where the file has no instructions of its own.
fn usual(simulator: &UserSimulator, has_more_tools: bool) -> String {
    let mut text = String::from(
        "You write what a person says to an assistant. You are that person, never the assistant.\n\n",
    );
    let _ = writeln!(text, "Who you are: {}", simulator.persona);
    let _ = writeln!(text, "What you want: {}", simulator.objective);
    if let Some(style) = &simulator.style {
        let _ = writeln!(text, "How you speak: {style}");
    }
    if let Some(state) = &simulator.emotional_state {
        let _ = writeln!(text, "How you feel: {state}");
    }
    let _ = writeln!(text, "What you know of the subject: {}", known(simulator.knowledge_level));
    if !simulator.constraints.is_empty() {
        let _ = writeln!(text, "You keep to this:\n{}", listed(&simulator.constraints));
    }
    if !simulator.tools.is_empty() || has_more_tools {
        text.push_str("\nWhat you can do yourself, you do with your tools before you answer.\n");
    }
    if !simulator.stop.is_empty() {
        let words = simulator.stop.join(" or ");
        let _ = writeln!(
            text,
            "\nWhen you have what you want, or see that you will not get it, end the conversation: answer with {words} \
             and nothing else."
        );
    }
    if simulator.may_hang_up {
        text.push_str("\nWhen you have what you want, or see that you will not get it, call `hang_up`.\n");
    }
    text.push_str(
        "\nAnswer with the person's next message and nothing else: no name before it, no quotes, no remarks.",
    );
    text
}

/// What the simulator is asked: the conversation so far, recent turns whole and older ones in a line each.
pub(crate) fn prompt(turns: &[TurnView<'_>], max_turns: u64) -> String {
    let mut text = String::new();
    let (older, recent) = turns.split_at(turns.len().saturating_sub(RECENT_TURNS));
    if !older.is_empty() {
        text.push_str("Earlier in the conversation, in short:\n");
        for turn in older {
            let (user, agent) = (said(turn.user.as_ref()), said(turn.agent.as_ref()));
            let _ = writeln!(text, "- the person: {} / the assistant: {}", short(user), short(agent));
        }
        text.push('\n');
    }
    if recent.is_empty() {
        text.push_str("The conversation begins. Write the person's first message.");
        return text;
    }
    text.push_str("The conversation:\n");
    for turn in recent {
        if turn.user.is_some() {
            let _ = writeln!(text, "Person: {}", said(turn.user.as_ref()));
        }
        let _ = writeln!(text, "Assistant: {}", said(turn.agent.as_ref()));
    }
    let left = max_turns.saturating_sub(turns.len() as u64);
    let _ = write!(
        text,
        "\nThe person can say {left} more thing{}. Write the person's next message.",
        plural(left)
    );
    text
}

fn said(message: Option<&(u64, String)>) -> &str {
    message.map_or("(nothing)", |(_, text)| text)
}

fn short(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    rehearsal_core::shorten(&line, SUMMARY_LENGTH)
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// Why a simulator's message cannot be taken as the user's.
///
/// A message breaks the role when, after a label of its own (`User:`) and quotes around it are taken off, it
/// - is empty,
/// - has a line that begins with a label of the other side (`Assistant:`, `Agent:`, `AI:`),
/// - says in the first person that it is an AI, a language model or a virtual assistant, or
/// - is what the agent just said, word for word.
///
/// A user who asks whether the assistant is an AI, or quotes it, stays in the role.
pub(crate) fn message(raw: &str, agent_said: Option<&str>) -> Result<String, String> {
    static OWN_LABEL: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?ix)^\s*[*_]*(?:
                (?:the\s+|my\s+)?(?:user|person|customer|human)(?:['’]s)?
                    (?:\s+(?:next\s+)?(?:response|reply|message|answer|says|said|turn))?
              | (?:my\s+|the\s+)?(?:next\s+)?(?:response|reply|message)
              | here(?:['’]s|\s+is)\s[^:\n]{0,60}\b(?:response|reply|message)
            )[*_]*\s*:[*_]*\s*",
        )
    });
    static OTHER_LABEL: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?im)^\s*\**(assistant|agent|ai|bot|system)\**\s*:"));
    static AS_AI: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?ix)\b(?:
                I(?:\s+am|['’]m)\s+(?:just\s+|only\s+)?an?\s+(?:AI|artificial\ intelligence|(?:large\s+)?language\ model|virtual\ assistant|chatbot)\b
              | as\s+an?\s+(?:AI|(?:large\s+)?language\ model)\b[^.?!]*?,\s*I\b
            )",
        )
    });
    let mut text = raw.trim();
    // Most messages have neither labels nor words about machines, and to compile these patterns takes longer than a case.
    let has_labels = text.contains(':');
    while has_labels && let Some(found) = OWN_LABEL.find(text) {
        text = &text[found.end()..];
    }
    let text = unquoted(text.trim());
    if text.is_empty() {
        return Err("it said nothing".to_owned());
    }
    if has_labels && let Some(found) = OTHER_LABEL.find(text) {
        return Err(format!("it also wrote the other side's words, after `{}`", found.as_str().trim()));
    }
    if names_a_machine(text)
        && let Some(found) = AS_AI.find(text)
    {
        return Err(format!("it speaks as an AI instead of the person: `{}`", found.as_str()));
    }
    let same = |a: &str, b: &str| a.split_whitespace().eq(b.split_whitespace());
    if agent_said.is_some_and(|agent| same(agent, text)) {
        return Err("it repeats what the agent just said, word for word".to_owned());
    }
    Ok(text.to_owned())
}

/// Whether there is a word without which nobody says to be an AI.
fn names_a_machine(text: &str) -> bool {
    const WORDS: [&str; 5] = ["ai", "artificial", "language", "virtual", "chatbot"];
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.iter().any(|machine| word.eq_ignore_ascii_case(machine)))
}

/// A message without quotes around the whole of it.
fn unquoted(text: &str) -> &str {
    for (open, close) in [('"', '"'), ('“', '”'), ('\'', '\'')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close))
            && !inner.contains([open, close])
        {
            return inner.trim();
        }
    }
    text
}

fn pattern(source: &str) -> Regex {
    match Regex::new(source) {
        Ok(regex) => regex,
        Err(error) => unreachable!("the pattern is fixed: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(raw: &str) -> String {
        message(raw, Some("How can I help?")).unwrap()
    }

    fn broken(raw: &str) -> String {
        message(raw, Some("How can I help?")).unwrap_err()
    }

    #[test]
    fn labels_and_quotes_of_its_own_are_taken_off() {
        assert_eq!(kept("User: I was charged twice."), "I was charged twice.");
        assert_eq!(kept("\"I was charged twice.\""), "I was charged twice.");
        for lead in [
            "User response:",
            "User's reply:",
            "**User:**",
            "Response:",
            "Here is the user's next message:\n\n",
            "Here's my response: User:",
            "The person's next message:",
        ] {
            assert_eq!(kept(&format!("{lead} \"I was charged twice.\"")), "I was charged twice.", "{lead}");
        }
        for fine in
            ["Here is my problem: it broke", "The message I got: error 7", "User error 5: what is it?"]
        {
            assert_eq!(kept(fine), fine);
        }
        assert_eq!(kept("  “My order 7 is late”  "), "My order 7 is late");
        assert_eq!(kept("He said \"no\" and \"yes\""), "He said \"no\" and \"yes\"");
    }

    #[test]
    fn a_user_may_talk_about_assistants() {
        for fine in [
            "Are you an AI?",
            "As an AI you should know that.",
            "Your agent told me to wait.",
            "I am an air traveller.",
            "Thanks!",
            "The assistant said: wait.",
        ] {
            assert_eq!(kept(fine), fine);
        }
    }

    #[test]
    fn a_user_who_says_nothing_has_broken_the_role() {
        assert_eq!(broken("  "), "it said nothing");
        assert_eq!(broken("User:"), "it said nothing");
        assert_eq!(broken("\"\""), "it said nothing");
    }

    #[test]
    fn a_user_who_writes_both_sides_has_broken_the_role() {
        assert!(broken("Thanks.\nAssistant: You are welcome.").contains("other side"));
        assert!(broken("AI: How can I help?").contains("other side"));
        assert!(broken("**Agent**: done").contains("other side"));
    }

    #[test]
    fn a_user_who_speaks_as_an_ai_has_broken_the_role() {
        assert!(broken("I'm just an AI, I cannot pay.").contains("as an AI"));
        assert!(broken("As a language model trained on text, I do not eat.").contains("as an AI"));
        assert!(broken("I am a virtual assistant.").contains("as an AI"));
    }

    #[test]
    fn a_user_who_echoes_the_agent_has_broken_the_role() {
        assert!(broken("How can  I help?").contains("word for word"));
        assert_eq!(message("How can I help?", None).unwrap(), "How can I help?");
    }
}
