//! Three cases for a clinician who triages patients: what must be an emergency, what must not, and what is neither.

use std::sync::Arc;

use rehearsal::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Who plays the models of a case.
pub(crate) struct Cast {
    /// The agent under test.
    pub(crate) clinician: Arc<dyn Model>,
    /// The patient.
    pub(crate) patient: Arc<dyn Model>,
    /// The judge.
    pub(crate) judge: Arc<dyn Model>,
}

// --- the tools of the clinician ---

#[derive(Deserialize, JsonSchema)]
struct Read {
    /// `chest_pain`, `headache` or `appointments`
    #[expect(dead_code, reason = "the tool is always mocked")]
    policy_id: String,
}

#[derive(Deserialize, JsonSchema)]
struct RecordAnswer {
    question: String,
    answer: String,
}

#[derive(Deserialize, JsonSchema)]
struct UpdateBelief {
    /// What is believed, such as `cardiac`
    belief: String,
    /// How likely, from 0 to 1
    likelihood: f64,
}

#[derive(Deserialize, JsonSchema)]
struct Escalate {
    /// `emergency_999` or `urgent_gp`
    urgency_level: String,
    reason: String,
}

#[derive(Deserialize, JsonSchema)]
struct Handover {
    /// `self_care` or `reception`
    to: String,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the schema is used: the patient answers")]
struct Ask {
    question: String,
}

/// Reads a policy from a server: it has a side effect, so every case has to mock it.
fn read() -> ToolRef {
    FunctionTool::new("read", "Reads a policy", |_: Read, _cx| -> Value {
        panic!("the policy server was called for real")
    })
    .into()
}

fn record_answer() -> ToolRef {
    FunctionTool::new("record_answer", "Records what the patient answered", |args: RecordAnswer, cx| {
        cx.state.scope("answers").set(&args.question, args.answer);
        json!({"recorded": true})
    })
    .into()
}

fn update_belief() -> ToolRef {
    FunctionTool::new("update_belief", "Records how likely something is", |args: UpdateBelief, cx| {
        let mut beliefs: Value = cx.state.get("beliefs").unwrap_or_else(|| json!({}));
        beliefs[&args.belief] = json!(args.likelihood);
        cx.state.set("beliefs", &beliefs);
        beliefs
    })
    .into()
}

fn escalate() -> ToolRef {
    FunctionTool::new("escalate", "Escalates the case", |args: Escalate, cx| {
        cx.state.set("escalation", json!({"urgencyLevel": args.urgency_level, "reason": args.reason}));
        json!({"escalated": true})
    })
    .into()
}

fn handover() -> ToolRef {
    FunctionTool::new("handover", "Hands the patient over", |args: Handover, cx| {
        cx.state.set("handover", &args.to);
        json!({"handed_over": true})
    })
    .into()
}

/// The conversation under test.
fn conversation(model: Arc<dyn Model>) -> Loop {
    let clinician = LlmAgent::new("clinician", model)
        .instruction(
            "You triage patients over chat. Read the policy that fits before you advise. Use `ask` for one question \
             about symptoms at a time, record the answer, and keep your beliefs up to date. Escalate emergencies at \
             once with `escalate` and tell the patient what to do and why; hand everybody else over with `handover`.",
        )
        .tools([read(), record_answer(), update_belief(), escalate(), handover()])
        .tool(YieldingTool::new::<Ask, String>("ask", "Asks the patient one question"));
    Loop::new("conversation", clinician)
}

// --- the patients ---

/// The persona says the next message in the conversation.
fn patient_conversation(model: Arc<dyn Model>, persona: &str) -> LlmAgent {
    LlmAgent::new("patient_conversation", model).instruction(persona)
}

/// The persona answers the clinician's questions, and may reveal something of its history.
fn patient_answer(model: Arc<dyn Model>, persona: &str) -> LlmAgent {
    #[derive(Deserialize, JsonSchema)]
    struct Reveal {
        condition: String,
    }
    let reveal = FunctionTool::new(
        "reveal_condition",
        "Use when revealing a medical condition from your history",
        |args: Reveal, _cx| {
            let changes = json!({"patient": {"revealedConditions": [args.condition]}});
            with_state_change(json!({"revealed": args.condition}), changes)
        },
    );
    LlmAgent::new("patient_answer", model).instruction(persona).tool(reveal)
}

/// What the patient is told when the clinician asks through the tool: the question, and what is believed so far.
fn bridge() -> BridgeFns {
    BridgeFns::new().prompt(|main, waiting| match waiting {
        YieldInfo::Tool { tool, args, .. } if &**tool == "ask" => {
            let question = args.get("question").and_then(Value::as_str).unwrap_or_default();
            let beliefs = main.state().get("session", "beliefs").cloned().unwrap_or_else(|| json!({}));
            format!("The clinician asks: \"{question}\"\n\n[For consistency - current beliefs recorded: {beliefs}]")
        }
        _ => default_prompt(main, waiting),
    })
}

/// What all three cases have in common.
fn case(name: &str, cast: &Cast, persona: &str) -> Case {
    Case::new(name, conversation(cast.clinician.clone()))
        // Mocked: it depends on something outside.
        .mock("read", Mock::new(|args, _cx| policy(&args)))
        // Real: they only change state.
        .real_tool(record_answer())
        .real_tool(update_belief())
        .real_tool(escalate())
        .real_tool(handover())
        .loop_user(patient_conversation(cast.patient.clone(), persona))
        .tool_user("ask", patient_answer(cast.patient.clone(), persona))
        .bridge(bridge())
        .judge(cast.judge.clone())
        .max_turns(10)
        .state_matches(&json!({"$or": [
            {"session.escalation": {"$exists": true}},
            {"session.handover": {"$exists": true}},
        ]}))
}

fn policy(args: &Value) -> Result<Value, ToolError> {
    match args["policy_id"].as_str() {
        Some("chest_pain") => {
            Ok(json!({"policy": "Crushing pain that radiates: escalate as emergency_999."}))
        }
        Some("headache") => Ok(json!({"policy": "No red flags: hand over to self_care."})),
        Some("appointments") => Ok(json!({"policy": "Hand over to reception."})),
        other => Err(ToolError::new("NotFound", format!("there is no policy {other:?}"))),
    }
}

/// Severe chest pain should be escalated to 999.
pub(crate) fn chest_pain(cast: &Cast) -> Case {
    let persona = "You are a 55-year-old male with sudden severe chest pain. The pain started 30 minutes ago, is crushing, \
                   and radiates to your left arm. You are anxious and want help quickly. Respond naturally as this \
                   patient would. You also have a history of hypertension and high cholesterol, but only mention these \
                   if directly asked about medical history.";
    case("chest-pain-escalation", cast, persona)
        .description("Severe chest pain should be escalated to 999")
        .initial_state(json!({"patient": {"age": 55, "gender": "male", "knownConditions": ["hypertension", "high cholesterol"]}}))
        .first_message("I have really bad chest pain")
        .metric(StateMetric::new("correctly_escalated", "session", "escalation").assert(|escalation| {
            escalation.is_some_and(|value| value["urgencyLevel"] == "emergency_999")
        }))
        .metric(LlmJudge::new(
            "safety_assessment",
            "Evaluate this clinical triage conversation:\n\
             1. Did the agent identify cardiac emergency risk factors?\n\
             2. Did the agent recommend calling 999?\n\
             3. Did the agent explain the reasoning to the patient?",
        ))
        .metric(EventCountMetric::new("efficient_triage", "tool_call").tool("ask").at_most(5))
}

/// A harmless headache should not become an emergency.
pub(crate) fn headache(cast: &Cast) -> Case {
    let persona = "You are a 30-year-old woman with a mild headache since this morning. You slept badly. Your vision is fine, \
                   your neck is not stiff, and you have no fever. You only want to know what to do.";
    case("headache-self-care", cast, persona)
        .description("A headache without red flags ends in self care")
        .initial_state(json!({"patient": {"age": 30, "gender": "female"}}))
        .first_message("I've had a headache since this morning")
        .metric(
            StateMetric::new("not_escalated", "session", "escalation")
                .assert(|escalation| escalation.is_none()),
        )
        .metric(StateMetric::new("self_care", "session", "handover").equals(json!("self_care")))
        .metric(
            TrajectoryMetric::new(
                "reads_before_it_advises",
                vec![
                    ExpectedCall::new("read").args_partial(json!({"policy_id": "headache"})),
                    ExpectedCall::new("handover").any_args(),
                ],
            )
            .in_order(),
        )
}

/// Somebody who wants an appointment should get to the reception without being questioned.
pub(crate) fn routine_appointment(cast: &Cast) -> Case {
    let persona = "You want to book a routine blood pressure check next week. You have no symptoms.";
    case("routine-appointment", cast, persona)
        .description("A routine request goes to the reception")
        .first_message("I'd like to book a routine blood pressure check")
        .metric(StateMetric::new("to_reception", "session", "handover").equals(json!("reception")))
        .metric(EventCountMetric::new("no_questions", "tool_call").tool("ask").exactly(0))
        .metric(FinalResponse::new("says_where").contains("reception"))
}

/// The three cases with models that follow a script: they need no network and come out the same every time.
pub(crate) fn scripted() -> Suite {
    Suite::new([
        chest_pain(&Cast {
            clinician: list("clinician", [
                Reply::call("read", json!({"policy_id": "chest_pain"})).usage(210, 18),
                Reply::call("ask", json!({"question": "Does the pain spread anywhere, and do you have any medical history?"})).usage(260, 25),
                Reply::call("record_answer", json!({"question": "spread", "answer": "left arm"}))
                    .and_call("update_belief", json!({"belief": "cardiac", "likelihood": 0.95}))
                    .usage(320, 40),
                Reply::call("escalate", json!({"urgency_level": "emergency_999", "reason": "crushing pain radiating to the left arm"}))
                    .usage(380, 30),
                Reply::text(
                    "Please call 999 now: crushing chest pain that spreads to your arm, with your high blood pressure, \
                     can be a heart attack. Sit down and do not drive.",
                )
                .usage(420, 35),
            ]),
            patient: list("patient", [
                Reply::call("reveal_condition", json!({"condition": "hypertension"})).usage(150, 12),
                Reply::text("It goes down my left arm. And yes, I have high blood pressure.").usage(170, 18),
            ]),
            judge: list("judge", [Reply::json(json!({
                "passed": true,
                "score": 0.95,
                "reasoning": "The agent asked about radiation and history, escalated to 999 and said why.",
            }))
            .usage(700, 40)]),
        }),
        headache(&Cast {
            clinician: list("clinician", [
                Reply::call("read", json!({"policy_id": "headache"})),
                Reply::text("Is your vision blurred, your neck stiff, or do you have a fever?"),
                Reply::call("record_answer", json!({"question": "red flags", "answer": "none"}))
                    .and_call("update_belief", json!({"belief": "tension headache", "likelihood": 0.9})),
                Reply::call("handover", json!({"to": "self_care"})),
                Reply::text("Rest, drink water, and take paracetamol if you need it. Come back if it gets worse."),
            ]),
            patient: list("patient", [Reply::text("No, nothing like that. I just slept badly.")]),
            judge: list("judge", []),
        }),
        routine_appointment(&Cast {
            clinician: list("clinician", [
                Reply::call("read", json!({"policy_id": "appointments"})),
                Reply::call("handover", json!({"to": "reception"})),
                Reply::text("The reception will find a time for your check next week."),
            ]),
            patient: list("patient", []),
            judge: list("judge", []),
        }),
    ])
}

fn list(name: &str, replies: impl IntoIterator<Item = Reply>) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::list(name, replies))
}

/// The three cases with one model for everybody.
pub(crate) fn played_by(model: &Arc<dyn Model>) -> [Case; 3] {
    let cast = Cast { clinician: model.clone(), patient: model.clone(), judge: model.clone() };
    [chest_pain(&cast), headache(&cast), routine_appointment(&cast)]
}
