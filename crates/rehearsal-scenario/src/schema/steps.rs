//! Steps and conversations.

use serde_json::{Value, json};

use super::{
    Definition, any_map, boolean, either, integer, list, map, number, reference, share, telling_texts, text,
    texts, with, word,
};
use rehearsal_world::environment::Language;

pub(super) fn schema() -> Value {
    reference("step", "A step.")
}

pub(super) fn definitions() -> Vec<Definition> {
    vec![("step", step()), ("conversation", conversation()), ("termination", termination())]
}

fn step() -> Value {
    let name = || text("Its name, as results show it.");
    let description = || text("What it is about.");
    let tags = || texts("Words for readers of the file.");
    let context = || {
        with(
            any_map("What is known around the calls of this step; mocks can ask for it."),
            json!({"propertyNames": {"not": {"pattern": "^(session|step|turn)$"}}}),
        )
    };
    let timeout = || {
        integer("How long the step may take, in milliseconds.", json!({"minimum": 1, "maximum": 86_400_000}))
    };
    let evaluations = |kind: &str| {
        list("What is asked of the step.", reference(&format!("{kind}_evaluation"), "An evaluation."))
    };
    let input = map(
        "Says something to the agent once.",
        &["input", "evaluations"],
        [
            ("name", name()),
            ("description", description()),
            ("tags", tags()),
            ("context", context()),
            ("timeout_ms", timeout()),
            ("input", text("What is said to the agent.")),
            ("evaluations", evaluations("input")),
        ],
    );
    let talk = map(
        "Talks to the agent.",
        &["conversation"],
        [
            ("name", name()),
            ("description", description()),
            ("tags", tags()),
            ("context", context()),
            ("input", text("The first message; the user's own unless given.")),
            ("conversation", reference("conversation", "How it goes on.")),
            ("evaluations", evaluations("conversation")),
        ],
    );
    let language = word("The language.", &Language::WORDS);
    let code = map(
        "Runs code in the environment.",
        &["code", "evaluations"],
        [
            ("name", name()),
            ("description", description()),
            ("tags", tags()),
            ("timeout_ms", with(timeout(), json!({"default": 60_000}))),
            ("lang", with(language, json!({"default": "bash"}))),
            ("code", text("The code.")),
            ("evaluations", evaluations("code")),
        ],
    );
    either("A step: something said, a conversation, or code.", &[input, talk, code])
}

fn conversation() -> Value {
    let evaluations = |description: &str, kind: &str| {
        list(description, reference(&format!("{kind}_evaluation"), "An evaluation."))
    };
    let script = map(
        "A user who follows a script.",
        &["script"],
        [(
            "script",
            telling_texts("The messages, one after the other; the conversation ends after the last."),
        )],
    );
    let person = word("A person, who says what comes next or ends the conversation.", &["person"]);
    let user = either("Who plays the user.", &[script, person]);
    let debug = map(
        "What is kept for looking into a conversation.",
        &[],
        [
            (
                "log_user_simulation",
                boolean("Whether the prompts of the simulated user are kept on the ledger.", false),
            ),
            ("log_turn_decisions", boolean("Whether decisions about ending are kept on the ledger.", false)),
            ("export_full_transcript", boolean("Whether the result has the whole transcript.", true)),
        ],
    );
    let schema = map(
        "How a conversation goes on after its first message.",
        &["max_turns"],
        [
            ("max_turns", integer("The most turns it may take.", json!({"minimum": 2, "maximum": 20}))),
            ("user_simulator", simulator()),
            ("user", user),
            (
                "termination_conditions",
                list(
                    "What ends it early; the first that holds does.",
                    reference("termination", "A condition."),
                ),
            ),
            (
                "timeout_per_turn_ms",
                integer(
                    "How long a turn may take, in milliseconds.",
                    json!({"minimum": 1000, "default": 30_000}),
                ),
            ),
            (
                "total_timeout_ms",
                integer(
                    "How long all of it may take, in milliseconds.",
                    json!({"minimum": 10_000, "default": 300_000}),
                ),
            ),
            ("turn_evaluations", evaluations("What is asked of every turn.", "turn")),
            ("final_evaluations", evaluations("What is asked of the whole conversation.", "conversation")),
            ("debug_options", debug),
        ],
    );
    with(schema, json!({"oneOf": [{"required": ["user_simulator"]}, {"required": ["user"]}]}))
}

fn simulator() -> Value {
    map(
        "A user that a model plays.",
        &["persona", "objective"],
        [
            ("persona", text("Who the user is.")),
            ("objective", text("What the user wants.")),
            ("model_type", text("The key of its model in `models`; `user` unless given.")),
            (
                "temperature",
                number("How freely it speaks.", json!({"minimum": 0, "maximum": 2, "default": 0.7})),
            ),
            (
                "max_tokens",
                integer(
                    "The longest message, in tokens.",
                    json!({"minimum": 50, "maximum": 500, "default": 200}),
                ),
            ),
            ("style", text("How it speaks.")),
            ("constraints", texts("What it keeps to.")),
            ("emotional_state", text("How it feels.")),
            (
                "knowledge_level",
                with(
                    word("How much it knows.", &["beginner", "intermediate", "expert"]),
                    json!({"default": "intermediate"}),
                ),
            ),
        ],
    )
}

fn termination() -> Value {
    let description = || text("What it is about.");
    let judge = || {
        map(
            "A question for the judge.",
            &["prompt"],
            [("prompt", text("The question.")), ("threshold", share("How sure the judge must be.", 0.8))],
        )
    };
    let counted = map(
        "Ends by itself.",
        &["type"],
        [
            (
                "type",
                word(
                    "`max_turns_reached`: the most turns were taken. `conversation_stuck`: nothing new is said.",
                    &["max_turns_reached", "conversation_stuck"],
                ),
            ),
            ("description", description()),
        ],
    );
    let told = map(
        "Ends when words show it, or when the judge says so.",
        &["type"],
        [
            (
                "type",
                word(
                    "What the conversation came to.",
                    &[
                        "user_expresses_satisfaction",
                        "agent_provides_solution",
                        "escalation_needed",
                        "goal_achieved",
                    ],
                ),
            ),
            ("description", description()),
            ("keywords", texts("Words that show it.")),
            ("llm_judge", judge()),
        ],
    );
    let own = map(
        "Ends by a condition of its author.",
        &["type"],
        [
            ("type", word("A condition of your own.", &["custom_condition"])),
            ("description", description()),
            ("llm_judge", judge()),
            ("expression", text("A JavaScript expression over `transcript`, `turns` and `state`.")),
        ],
    );
    let own = with(own, json!({"anyOf": [{"required": ["expression"]}, {"required": ["llm_judge"]}]}));
    either("Something that ends a conversation.", &[counted, told, own])
}
