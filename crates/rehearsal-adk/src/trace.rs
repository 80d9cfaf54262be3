//! Golden traces: a completed session as an eval case.

use rehearsal_core::{
    CallId, Content, EndReason, FunctionResponse, Ledger, Part, PartData, SessionId, Timestamp, ToolOutcome,
};
use rehearsal_metrics::{adk_text, rouge1};
use serde_json::{Map, Value, json};

use crate::caution::{Caution, Obstacle};
use crate::conversation::{What, answer_text, is_failure, root_agent, steps};
use crate::eval_set::{Conversation, EvalCase, IntermediateData, Invocation, SessionInput, ToolUse};
use crate::name::{eval_id, snake_case};
use crate::state::flat_state;

/// A completed session as an ADK eval case.
///
/// Every message of the user in the conversation itself becomes an invocation, with the tools that were called until
/// the next one, in order, and the answer. Calls inside agents used as tools are left out, as they are no part of the
/// session that `adk eval` looks at; calls the runtime makes up, such as `transfer_to_agent` and `set_model_response`,
/// are in where the ledger has them. What agents said between calls is left out: no offline metric reads it.
///
/// So is a message whose run failed, once a later one was answered: nothing could be expected of an agent there.
///
/// ```
/// use rehearsal_adk::{GoldenTrace, TraceOptions};
/// # use rehearsal_testkit::ledger;
///
/// let ledger = ledger(r#"user: 2+2? / call add {"a": 2, "b": 2} / result add 4 / agent: The answer is 4 / end"#);
/// let trace = GoldenTrace::from_ledger(&ledger, &TraceOptions::default())?;
/// assert_eq!(trace.case.eval_id, "agent_2026-01-01T12:00:00");
/// assert_eq!(trace.case.invocations().map(<[_]>::len), Some(1));
/// # Ok::<(), rehearsal_adk::NotExportable>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GoldenTrace {
    /// The session it was made from.
    pub session: SessionId,
    /// The agent.
    pub agent: String,
    /// The eval case.
    pub case: EvalCase,
    /// The numbers of the events with messages whose runs failed; they are not in the eval case.
    pub left_out: Vec<u64>,
    /// Why `adk eval` cannot run it to its end, in order; empty where it can.
    pub cautions: Vec<Caution>,
}

/// What a golden trace says that the ledger does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// The agent's folder; its name in snake case unless told. `adk eval` finds a session's details by it.
    pub app_name: Option<String>,
    /// The user; `user` unless told.
    pub user_id: String,
    /// Whether the time in the eval id is written with colons. With them, `adk eval FILE:ID` cannot select the case.
    pub colons: bool,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self { app_name: None, user_id: "user".to_owned(), colons: true }
    }
}

/// Why a session cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotExportable {
    /// It has no events.
    #[error("the session has not started; there is nothing to export")]
    NotStarted,
    /// It goes on.
    #[error(
        "the session is still active; complete it first, on the page or with `rehearse export --complete`"
    )]
    StillActive,
    /// Somebody ended it.
    #[error("the session was cancelled; only a completed session is a golden trace")]
    Cancelled,
    /// It ended for another reason.
    #[error("the session ended with `{}`; only a completed session is a golden trace", reason_word(*reason))]
    NotCompleted {
        /// The reason.
        reason: EndReason,
    },
    /// The user never said anything.
    #[error("the session has no user message; an eval case needs at least one")]
    NoUserMessage,
    /// A message holds nothing that ADK could send to the agent.
    #[error("the user message of event {seq} is empty; `adk eval` cannot send it to the agent")]
    EmptyUserMessage {
        /// The number of its event.
        seq: u64,
    },
    /// The last message of the user was not answered.
    #[error("the session has no final response; send one before completing the session")]
    NoFinalResponse,
}

fn reason_word(reason: EndReason) -> String {
    serde_json::to_value(reason).map(|word| answer_text(&word)).unwrap_or_default()
}

impl GoldenTrace {
    /// Makes the eval case of a completed session.
    ///
    /// # Errors
    /// The session is not completed, or lacks what an eval case needs.
    pub fn from_ledger(ledger: &Ledger, options: &TraceOptions) -> Result<Self, NotExportable> {
        let (started, first) =
            ledger.started().zip(ledger.events().first()).ok_or(NotExportable::NotStarted)?;
        match ledger.end() {
            Some(EndReason::Completed) => {}
            None => return Err(NotExportable::StillActive),
            Some(EndReason::Cancelled) => return Err(NotExportable::Cancelled),
            Some(reason) => return Err(NotExportable::NotCompleted { reason }),
        }
        let all = played(ledger);
        if all.last().is_some_and(|last| last.invocation.final_response.is_none()) {
            return Err(NotExportable::NoFinalResponse);
        }
        let (mut invocations, mut left_out, mut cautions) = (Vec::new(), Vec::new(), Vec::new());
        for Played { seq, has_failed, mut invocation, mut obstacles } in all {
            if has_failed && invocation.final_response.is_none() {
                left_out.push(seq);
                continue;
            }
            invocation.invocation_id = invocation_id(ledger, invocations.len());
            invocation.user_content = common_subset(&invocation.user_content);
            if invocation.user_content.parts.is_empty() {
                return Err(NotExportable::EmptyUserMessage { seq });
            }
            let place = invocations.len();
            if !has_words(invocation.final_response.as_ref()) {
                obstacles.push((seq, Obstacle::NoWords));
            }
            cautions.extend(obstacles.into_iter().map(|(seq, obstacle)| Caution { seq, place, obstacle }));
            invocations.push(invocation);
        }
        if invocations.is_empty() {
            return Err(NotExportable::NoUserMessage);
        }
        let agent = root_agent(ledger).to_string();
        let session_input = SessionInput {
            app_name: options.app_name.clone().unwrap_or_else(|| snake_case(&agent)),
            user_id: options.user_id.clone(),
            state: flat_state(&started.state),
        };
        let case = EvalCase {
            eval_id: eval_id(&agent, first.at, options.colons),
            conversation: Conversation::Static(invocations),
            session_input: Some(session_input),
            creation_timestamp: seconds(first.at),
            final_session_state: Map::new(),
        };
        Ok(Self { session: ledger.session().clone(), agent, case, left_out, cautions })
    }

    /// How many messages, from the first on, `adk eval` can run.
    pub fn runnable(&self) -> usize {
        let all = self.case.invocations().map_or(0, <[_]>::len);
        self.cautions.first().map_or(all, |first| first.place)
    }

    /// The trace up to the first message that `adk eval` cannot run; nothing where that is the first.
    pub fn into_runnable(mut self) -> Option<Self> {
        let runnable = self.runnable();
        if let Conversation::Static(invocations) = &mut self.case.conversation {
            invocations.truncate(runnable);
        }
        self.cautions.clear();
        (runnable > 0).then_some(self)
    }
}

/// Whether an answer is one that ADK's comparison of words finds equal to itself.
fn has_words(answer: Option<&Content>) -> bool {
    let text = answer.map(adk_text).unwrap_or_default();
    rouge1(&text, &text).f1 > 0.0
}

/// An invocation.
struct Played {
    /// The number of the event that opened it.
    seq: u64,
    /// Whether its run is said to have failed.
    has_failed: bool,
    invocation: Invocation,
    /// What `adk eval` cannot do again, with the events that show it.
    obstacles: Vec<(u64, Obstacle)>,
}

fn invocation_id(ledger: &Ledger, number: usize) -> String {
    format!("{}_inv_{number}", ledger.session())
}

/// The invocations of a session, finished or not, as ADK would have them.
pub(crate) fn invocations(ledger: &Ledger) -> Vec<Invocation> {
    played(ledger).into_iter().map(|played| played.invocation).collect()
}

fn played(ledger: &Ledger) -> Vec<Played> {
    let mut all: Vec<Played> = Vec::new();
    for step in steps(ledger).into_iter().filter(|step| step.within.is_none()) {
        if let What::Said(content) = step.what {
            let invocation = Invocation {
                invocation_id: invocation_id(ledger, all.len()),
                user_content: Content {
                    role: Some(rehearsal_core::Role::User),
                    parts: content.parts.clone(),
                },
                final_response: None,
                intermediate_data: IntermediateData::default(),
                creation_timestamp: seconds(step.event.at),
            };
            let seq = step.event.seq;
            let answered = content.responses().map(|response| (seq, Obstacle::answered(&response.name)));
            let obstacles = answered.collect();
            all.push(Played { seq, has_failed: false, invocation, obstacles });
            continue;
        }
        // What an agent does before anybody spoke to it belongs to no invocation.
        let Some(Played { invocation, obstacles, .. }) = all.last_mut() else { continue };
        obstacles.extend(Obstacle::of(&step.what).map(|obstacle| (step.event.seq, obstacle)));
        let done = &mut invocation.intermediate_data;
        match step.what {
            What::Said(_) | What::Failed { .. } => {}
            What::Called { id, tool, args } => {
                done.tool_uses.push(ToolUse { id, name: tool.to_owned(), args: Some(args.clone()) });
            }
            // What the user answered is what the user said.
            What::Answered { id: Some(id), .. } if gave(&invocation.user_content, &id) => {}
            What::Answered { id, tool, outcome } => {
                done.tool_responses.push(FunctionResponse::new(id, tool, recorded(&outcome)));
            }
            What::Concluded(output) => {
                invocation.final_response = Some(Content::model(answer_text(&output)));
            }
        }
    }
    for event in ledger.events().iter().filter(|event| is_failure(&event.body)) {
        if let Some(failed) = all.iter_mut().rev().find(|played| played.seq < event.seq) {
            failed.has_failed = true;
        }
    }
    all
}

/// Whether a message of the user answers this call.
fn gave(content: &Content, call: &CallId) -> bool {
    content.responses().any(|response| response.id.as_ref() == Some(call))
}

/// What a tool gave, as a golden trace has it.
fn recorded(outcome: &ToolOutcome) -> Value {
    match outcome {
        ToolOutcome::Output(value) => value.clone(),
        ToolOutcome::Error(error) => json!({"error": {"type": error.kind, "message": error.message}}),
    }
}

/// Seconds since 1970, as ADK writes times.
#[expect(clippy::cast_precision_loss, reason = "microseconds stay exact until the year 2255")]
pub(crate) fn seconds(at: Timestamp) -> f64 {
    at.as_microsecond() as f64 / 1_000_000.0
}

/// Fields of a part that every supported version of ADK takes, beside those the core knows.
pub(crate) const PART_FIELDS: [&str; 7] = [
    "media_resolution",
    "code_execution_result",
    "executable_code",
    "video_metadata",
    "tool_call",
    "tool_response",
    "part_metadata",
];

/// A content with everything left out that some supported version of ADK would refuse.
fn common_subset(content: &Content) -> Content {
    let parts = content.parts.iter().filter_map(common_part).collect();
    Content { role: content.role.clone(), parts }
}

fn common_part(part: &Part) -> Option<Part> {
    let mut part = part.clone();
    part.extra = kept(part.extra, &PART_FIELDS);
    match &mut part.data {
        PartData::InlineData(blob) => {
            blob.extra = kept(std::mem::take(&mut blob.extra), &["display_name"]);
        }
        PartData::FileData(file) => file.extra = kept(std::mem::take(&mut file.extra), &["display_name"]),
        PartData::FunctionCall(call) => {
            call.extra = kept(std::mem::take(&mut call.extra), &["partial_args", "will_continue"]);
        }
        PartData::FunctionResponse(response) => {
            let fields = ["will_continue", "scheduling", "parts"];
            response.extra = kept(std::mem::take(&mut response.extra), &fields);
        }
        _ => {}
    }
    let is_empty = match &part.data {
        PartData::Text(text) => text.is_empty(),
        PartData::Other => part.extra.is_empty(),
        _ => false,
    };
    (!is_empty).then_some(part)
}

/// The fields with these names, in either spelling; written in snake case.
fn kept(fields: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let known = |(key, value): (String, Value)| {
        let name = names.iter().find(|name| key == **name || key == camel_case(name))?;
        Some(((*name).to_owned(), value))
    };
    fields.into_iter().filter_map(known).collect()
}

/// `tool_uses` as `toolUses`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut is_next_upper = false;
    for character in name.chars() {
        match character {
            '_' => is_next_upper = true,
            _ if is_next_upper => {
                camel.extend(character.to_uppercase());
                is_next_upper = false;
            }
            _ => camel.push(character),
        }
    }
    camel
}
