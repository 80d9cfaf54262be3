//! Steps and conversations.

use rehearsal_core::keys::{Form, Key, Part, Table};
use rehearsal_metrics::evaluator::{KINDS, LooksAt};
use rehearsal_world::environment::Language;
use serde_json::{Value, json};

use super::speakers::{SCRIPTED_USER, SIMULATOR};
use crate::TerminationKind;

pub(super) static STEP: Part = Part {
    name: "step",
    form: Form::About(
        "A step: something said, a conversation, or code.",
        &Form::OneOf(&[Form::Table(&INPUT_STEP), Form::Table(&TALK_STEP), Form::Table(&CODE_STEP)]),
    ),
};

const NAME: Key = Key::optional("name", Form::Text, "Its name, as results show it.");
const ABOUT: Key = Key::optional("description", Form::Text, "What it is about.");
const CONTEXT: Key = Key::optional(
    "context",
    Form::Own(|| json!({"type": "object", "propertyNames": {"not": {"pattern": "^(session|step|turn)$"}}})),
    "What is known around the calls of this step; mocks can ask for it.",
);
const TIMEOUT: Form = Form::Whole(1.0, 86_400_000.0);
const EVALUATIONS: &str = "What is asked of the step.";

/// A step that says something once.
pub(crate) static INPUT_STEP: Table = Table::new(
    "Says something to the agent once.",
    &[
        NAME,
        ABOUT,
        CONTEXT,
        Key::optional("timeout_ms", TIMEOUT, "How long the step may take, in milliseconds."),
        Key::required("input", Form::Text, "input: Hello", "What is said to the agent."),
        Key::required(
            "evaluations",
            Form::List(&Form::Part(&INPUT_EVALUATION)),
            "evaluations: []",
            EVALUATIONS,
        ),
    ],
);

/// A step that is a conversation.
pub(crate) static TALK_STEP: Table = Table::new(
    "Talks to the agent.",
    &[
        NAME,
        ABOUT,
        CONTEXT,
        Key::optional("input", Form::Text, "The first message; the user's own unless given."),
        Key::required(
            "conversation",
            Form::Part(&CONVERSATION_PART),
            "conversation: {max_turns: 4, user: {script: [Hello]}}",
            "How it goes on.",
        ),
        Key::optional("evaluations", Form::List(&Form::Part(&CONVERSATION_EVALUATION)), EVALUATIONS),
    ],
);

/// A step that runs code.
pub(crate) static CODE_STEP: Table = Table::new(
    "Runs code in the environment.",
    &[
        NAME,
        ABOUT,
        Key::or("timeout_ms", TIMEOUT, "60000", "How long the step may take, in milliseconds."),
        Key::or("lang", Form::Word(&Language::WORDS), "\"bash\"", "The language."),
        Key::required("code", Form::Text, "code: ls", "The code."),
        Key::required(
            "evaluations",
            Form::List(&Form::Part(&CODE_EVALUATION)),
            "evaluations: []",
            EVALUATIONS,
        ),
    ],
);

const ANYWHERE: &[LooksAt] = &[LooksAt::Reply, LooksAt::Agent];

static TURN_EVALUATION: Part = Part {
    name: "turn_evaluation",
    form: Form::About("Something that is asked of a turn.", &Form::Own(of_turns)),
};
static INPUT_EVALUATION: Part = Part {
    name: "input_evaluation",
    form: Form::About(
        "Something that is asked of a step that says something.",
        &Form::Own(|| asked(&[LooksAt::Reply, LooksAt::Agent, LooksAt::Environment, LooksAt::World])),
    ),
};
static CODE_EVALUATION: Part = Part {
    name: "code_evaluation",
    form: Form::About(
        "Something that is asked of a step that runs code.",
        &Form::Own(|| asked(&[LooksAt::Reply, LooksAt::Environment, LooksAt::World])),
    ),
};
static CONVERSATION_EVALUATION: Part = Part {
    name: "conversation_evaluation",
    form: Form::About(
        "Something that is asked of a conversation.",
        &Form::Own(|| {
            let all = [LooksAt::Environment, LooksAt::World, LooksAt::Conversation];
            asked(&[ANYWHERE, &all].concat())
        }),
    ),
};

/// Those of turns, which have one reply.
fn of_turns() -> Value {
    let mut schema = asked(ANYWHERE);
    schema["properties"] = json!({"in": {"const": "last"}});
    schema
}

/// The evaluators that look at one of these.
fn asked(groups: &[LooksAt]) -> Value {
    let kinds = KINDS.iter().filter(|kind| groups.contains(&kind.looks_at));
    let forms: Vec<Value> = kinds.map(|kind| json!({"$ref": format!("#/$defs/{}", kind.name)})).collect();
    json!({"oneOf": forms})
}

/// The most turns that a conversation may be given.
const MAX_TURNS: u32 = 1_000_000;

/// The words for who opens a conversation.
const OPENINGS: &[&str] = &["user", "agent"];

static CONVERSATION_PART: Part = Part { name: "conversation", form: Form::Table(&CONVERSATION) };

/// How a conversation goes on.
pub(crate) static CONVERSATION: Table = Table::new(
    "How a conversation goes on after its first message.",
    &[
        Key::required(
            "max_turns",
            Form::Whole(2.0, MAX_TURNS as f64),
            "max_turns: 6",
            "The most turns it may take.",
        ),
        Key::or(
            "opening",
            Form::Word(OPENINGS),
            "\"user\"",
            "Who speaks first. An `agent` can only open its session; that is a turn of its own.",
        ),
        Key::unless(
            "user_simulator",
            Form::Table(&SIMULATOR),
            "user_simulator: {persona: …, objective: …}",
            "A user that a model plays.",
        ),
        Key::optional(
            "user",
            Form::OneOf(&[
                Form::Table(&SCRIPTED_USER),
                Form::About(
                    "A person, who says what comes next or ends the conversation.",
                    &Form::Word(&["person"]),
                ),
            ]),
            "Who plays the user.",
        ),
        Key::optional(
            "termination_conditions",
            Form::List(&Form::Part(&TERMINATION)),
            "What ends it early; the first that holds does.",
        ),
        Key::or(
            "timeout_per_turn_ms",
            Form::Whole(1000.0, f64::INFINITY),
            "30000",
            "How long a turn may take, in milliseconds.",
        ),
        Key::or(
            "total_timeout_ms",
            Form::Whole(10_000.0, f64::INFINITY),
            "300000",
            "How long all of it may take, in milliseconds.",
        ),
        Key::optional(
            "turn_evaluations",
            Form::List(&Form::Part(&TURN_EVALUATION)),
            "What is asked of every turn.",
        ),
        Key::optional(
            "final_evaluations",
            Form::List(&Form::Part(&CONVERSATION_EVALUATION)),
            "What is asked of the whole conversation.",
        ),
        Key::optional(
            "debug_options",
            Form::Table(&DEBUG_OPTIONS),
            "What is kept for looking into a conversation.",
        ),
    ],
)
.rules(|| json!({"oneOf": [{"required": ["user_simulator"]}, {"required": ["user"]}]}));

/// What is kept for looking into a conversation.
pub(crate) static DEBUG_OPTIONS: Table = Table::new(
    "What is kept for looking into a conversation.",
    &[
        Key::or(
            "log_user_simulation",
            Form::Flag,
            "false",
            "Whether the prompts of the simulated user are kept on the ledger.",
        ),
        Key::or(
            "log_turn_decisions",
            Form::Flag,
            "false",
            "Whether decisions about ending are kept on the ledger.",
        ),
        Key::or("export_full_transcript", Form::Flag, "true", "Whether the result has the whole transcript."),
    ],
);

static TERMINATION: Part = Part {
    name: "termination",
    form: Form::About(
        "Something that ends a conversation.",
        &Form::OneOf(&[
            Form::Table(&COUNTED_END),
            Form::Table(&TOLD_END),
            Form::Table(&STATE_END),
            Form::Table(&OWN_END),
        ]),
    ),
};

const END_ABOUT: Key = Key::optional("description", Form::Text, "What it is about; results say it.");
const END_JUDGE: Key = Key::optional("llm_judge", Form::Table(&END_QUESTION), "A question for the judge.");
const END_EXAMPLE: &str = "type: goal_achieved";

/// Conditions that hold by what happens.
pub(crate) static COUNTED_END: Table = Table::new(
    "Ends by itself.",
    &[
        Key::required(
            "type",
            Form::Word(&[TerminationKind::MaxTurnsReached.word(), TerminationKind::ConversationStuck.word()]),
            END_EXAMPLE,
            "`max_turns_reached`: the most turns were taken. `conversation_stuck`: nothing new is said.",
        ),
        END_ABOUT,
    ],
);

/// Conditions that hold by what is said.
pub(crate) static TOLD_END: Table = Table::new(
    "Ends when words show it, or when the judge says so.",
    &[
        Key::required(
            "type",
            Form::Word(&[
                TerminationKind::UserExpressesSatisfaction.word(),
                TerminationKind::AgentProvidesSolution.word(),
                TerminationKind::EscalationNeeded.word(),
                TerminationKind::GoalAchieved.word(),
            ]),
            END_EXAMPLE,
            "What the conversation came to.",
        ),
        END_ABOUT,
        Key::optional("keywords", Form::Texts, "Words that show it."),
        END_JUDGE,
    ],
);

/// A condition on the state.
pub(crate) static STATE_END: Table = Table::new(
    "Ends when the state satisfies a query.",
    &[
        Key::required(
            "type",
            Form::Word(&[TerminationKind::StateMatches.word()]),
            END_EXAMPLE,
            "The state satisfies a query.",
        ),
        END_ABOUT,
        Key::required(
            "matches",
            Form::SomeMap,
            "matches: {session.stage: done}",
            "The query, such as `{session.escalation: {$exists: true}}`.",
        ),
    ],
);

/// A condition of the author's own.
pub(crate) static OWN_END: Table = Table::new(
    "Ends by a condition of its author.",
    &[
        Key::required(
            "type",
            Form::Word(&[TerminationKind::CustomCondition.word()]),
            END_EXAMPLE,
            "A condition of your own.",
        ),
        END_ABOUT,
        END_JUDGE,
        Key::optional(
            "expression",
            Form::Text,
            "A JavaScript expression over `transcript`, `turns` and `state`.",
        ),
    ],
)
.rules(|| json!({"anyOf": [{"required": ["expression"]}, {"required": ["llm_judge"]}]}));

/// A question that ends a conversation.
pub(crate) static END_QUESTION: Table = Table::new(
    "A question for the judge.",
    &[
        Key::required("prompt", Form::Text, "prompt: Is the goal reached?", "The question."),
        Key::or("threshold", Form::Number(0.0, 1.0), "0.8", "How sure the judge must be."),
    ],
);
