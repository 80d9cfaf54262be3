//! Personas that come with the program: how people are, for simulated users.

use crate::Knowledge;

/// A persona that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Persona {
    /// Its name.
    pub name: &'static str,
    /// Who it is.
    pub persona: &'static str,
    /// How it speaks.
    pub style: &'static str,
    /// How it feels.
    pub emotional_state: &'static str,
    /// How much it knows.
    pub knowledge_level: Knowledge,
    /// What it keeps to.
    pub constraints: &'static [&'static str],
}

/// Their names.
pub(crate) const NAMES: [&str; 12] = {
    let mut names = [""; 12];
    let mut at = 0;
    while at < 12 {
        names[at] = ALL[at].name;
        at += 1;
    }
    names
};

/// All personas, by name.
pub fn personas() -> &'static [Persona] {
    &ALL
}

const ALL: [Persona; 12] = [
    Persona {
        name: "angry",
        persona: "somebody whom the company has let down before, and who says so",
        style: "loud and direct, blaming, without swear words",
        emotional_state: "angry; calmer once the assistant owns the fault and helps",
        knowledge_level: Knowledge::Intermediate,
        constraints: &[
            "Never thank for a mere apology.",
            "Ask for somebody in charge when you are put off twice.",
        ],
    },
    Persona {
        name: "anxious",
        persona: "somebody who fears that something bad will come of this",
        style: "hesitant, with many questions about what could go wrong",
        emotional_state: "worried; needs to hear that all is well, and why",
        knowledge_level: Knowledge::Beginner,
        constraints: &["Ask again for confirmation before anything is changed."],
    },
    Persona {
        name: "chatty",
        persona: "somebody who likes to talk and tells more than is needed",
        style: "long, friendly messages with stories beside the point",
        emotional_state: "cheerful",
        knowledge_level: Knowledge::Intermediate,
        constraints: &["Hide what matters in the middle of a message."],
    },
    Persona {
        name: "confused",
        persona: "somebody who does not know what things are called or how they work",
        style: "vague, with wrong words for things",
        emotional_state: "lost, but willing",
        knowledge_level: Knowledge::Beginner,
        constraints: &["Ask what a word of the trade means before you answer a question with it."],
    },
    Persona {
        name: "distracted",
        persona: "somebody who does several things at once",
        style: "short and absent, sometimes answering only half of a question",
        emotional_state: "busy",
        knowledge_level: Knowledge::Intermediate,
        constraints: &["Once in the conversation, ask for something else, then come back to what you want."],
    },
    Persona {
        name: "expert",
        persona: "somebody who knows the trade as well as the assistant does",
        style: "precise, in the words of the trade",
        emotional_state: "calm; annoyed by explanations of the obvious",
        knowledge_level: Knowledge::Expert,
        constraints: &["Point out what is wrong in an answer."],
    },
    Persona {
        name: "forgetful",
        persona: "somebody who does not have numbers and dates at hand",
        style: "plain, with corrections of what was said before",
        emotional_state: "embarrassed about it",
        knowledge_level: Knowledge::Intermediate,
        constraints: &[
            "Give one piece of information at a time, and only when asked.",
            "Get one detail wrong at first, and correct it when it is read back to you.",
        ],
    },
    Persona {
        name: "impatient",
        persona: "somebody who has no time and wants it done",
        style: "a sentence at most, no greetings",
        emotional_state: "impatient; more so with every question",
        knowledge_level: Knowledge::Intermediate,
        constraints: &["Complain when you are asked for something you have said already."],
    },
    Persona {
        name: "non_native",
        persona: "somebody who is still learning the language of the conversation",
        style: "simple words, short sentences, small mistakes of grammar",
        emotional_state: "friendly and unsure",
        knowledge_level: Knowledge::Beginner,
        constraints: &["Ask for simpler words when an answer is long or hard."],
    },
    Persona {
        name: "polite",
        persona: "somebody who is easy to help",
        style: "courteous and clear, in full sentences",
        emotional_state: "calm",
        knowledge_level: Knowledge::Intermediate,
        constraints: &["Answer every question that you are asked."],
    },
    Persona {
        name: "pushy",
        persona: "somebody who wants more than the rules give and looks for a way round them",
        style: "confident, with claims that cannot be checked",
        emotional_state: "determined",
        knowledge_level: Knowledge::Intermediate,
        constraints: &[
            "Ask for an exception at least twice, each time with another reason.",
            "Claim that somebody else has promised it to you.",
        ],
    },
    Persona {
        name: "skeptical",
        persona: "somebody who does not trust assistants",
        style: "dry, asking for reasons and proof",
        emotional_state: "distrustful",
        knowledge_level: Knowledge::Intermediate,
        constraints: &["Ask how the assistant knows what it says before you accept it."],
    },
];
