//! What follows from the events of a ledger.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::event::usage_of;
use crate::{
    CallId, EndReason, Event, EventBody, InvocationId, LastRequest, ModelRequest, Player, RequestRecord,
    State, ToolResult, TurnId, Usage, Yield,
};

/// An event that contradicts those before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Inconsistent {
    /// A session begins once, at its first event.
    #[error("a ledger begins with one `session_started` event")]
    Start,
    /// Nothing follows the end.
    #[error("the session has ended; nothing can be appended")]
    Ended,
    /// Call ids are unique in a session.
    #[error("call id `{call}` is used twice")]
    DuplicateCall {
        /// The id.
        call: CallId,
    },
    /// A result answers a call that was made.
    #[error("a result names call `{call}`, which was never made")]
    UnknownCall {
        /// The id.
        call: CallId,
    },
    /// A call is answered once.
    #[error("call `{call}` has a result already")]
    AnsweredCall {
        /// The id.
        call: CallId,
    },
    /// A turn has one request.
    #[error("model turn `{turn}` has a request already")]
    DuplicateTurn {
        /// The turn.
        turn: TurnId,
    },
    /// A turn has at most one response.
    #[error("model turn `{turn}` has a response already")]
    AnsweredTurn {
        /// The turn.
        turn: TurnId,
    },
    /// A request that continues another names one that is on the ledger.
    #[error("a model request continues turn `{turn}`, which the ledger does not hold or which is too short")]
    UnknownBase {
        /// The turn.
        turn: TurnId,
    },
    /// A request belongs to a turn.
    #[error("a model request must name its turn")]
    NoTurn,
}

/// What follows from the events so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Fold {
    pub(super) state: State,
    pub(super) started: IndexMap<InvocationId, usize>,
    pub(super) ended: IndexMap<InvocationId, usize>,
    pub(super) spoken: BTreeSet<InvocationId>,
    pub(super) calls: IndexMap<CallId, CallPlaces>,
    pub(super) tool_counts: IndexMap<Arc<str>, u64>,
    /// How many calls of each tool were answered by the tool, or by whoever played it.
    pub(super) reached: IndexMap<Arc<str>, u64>,
    pub(super) turns: IndexMap<TurnId, usize>,
    pub(super) answered_turns: IndexMap<TurnId, usize>,
    pub(super) requests: IndexMap<Arc<str>, LastRequest>,
    pub(super) answered: IndexMap<Arc<str>, u64>,
    pub(super) open_yield: Option<Yield>,
    pub(super) resumed: u64,
    pub(super) usage: Option<Usage>,
    pub(super) end: Option<EndReason>,
}

#[derive(Clone, Debug)]
pub(super) struct CallPlaces {
    pub(super) made: usize,
    pub(super) answered: Option<usize>,
    pub(super) nth: u64,
}

impl Fold {
    /// Takes one more event in, or refuses it and stays as it was.
    pub(super) fn take(&mut self, event: &Event, before: &[Arc<Event>]) -> Result<(), Inconsistent> {
        let at = before.len();
        if self.end.is_some() && !event.body.is_beside() {
            return Err(Inconsistent::Ended);
        }
        if (at == 0) != matches!(event.body, EventBody::SessionStarted(_)) {
            return Err(Inconsistent::Start);
        }
        match &event.body {
            EventBody::SessionStarted(started) => self.state = started.state.clone(),
            EventBody::AgentStarted { .. } => {
                if let Some(invocation) = &event.invocation {
                    self.started.insert(invocation.clone(), at);
                }
            }
            EventBody::AgentEnded { .. } => {
                if let Some(invocation) = &event.invocation {
                    self.ended.insert(invocation.clone(), at);
                }
            }
            EventBody::UserMessage { .. } => {
                if let Some(invocation) = &event.invocation {
                    self.spoken.insert(invocation.clone());
                }
                if matches!(self.open_yield, Some(Yield::Loop { .. })) {
                    self.close_yield();
                }
            }
            EventBody::ModelRequest(record) => self.take_request(event, record, before)?,
            EventBody::ModelResponse(_) => {
                if let Some(turn) = &event.turn {
                    if self.answered_turns.contains_key(turn) {
                        return Err(Inconsistent::AnsweredTurn { turn: turn.clone() });
                    }
                    self.answered_turns.insert(turn.clone(), at);
                }
                *self.answered.entry(event.author.clone()).or_default() += 1;
            }
            EventBody::ToolCall { call, tool, .. } => {
                if self.calls.contains_key(call) {
                    return Err(Inconsistent::DuplicateCall { call: call.clone() });
                }
                let count = self.tool_counts.entry(tool.clone()).or_default();
                self.calls.insert(call.clone(), CallPlaces { made: at, answered: None, nth: *count });
                *count += 1;
            }
            EventBody::ToolResult(result) => {
                self.take_result(result, at)?;
                if event.decision.as_ref().is_none_or(|decision| decision.by != Player::Engine) {
                    *self.reached.entry(result.tool.clone()).or_default() += 1;
                }
            }
            EventBody::Yield(waiting) => self.open_yield = Some(waiting.clone()),
            EventBody::SessionEnded { reason } => self.end = Some(*reason),
            _ => {}
        }
        for patch in event.body.changes() {
            self.state.apply(patch);
        }
        if let Some(used) = usage_of(&event.body) {
            *self.usage.get_or_insert_default() += used;
        }
        Ok(())
    }

    fn take_request(
        &mut self,
        event: &Event,
        record: &RequestRecord,
        before: &[Arc<Event>],
    ) -> Result<(), Inconsistent> {
        let turn = event.turn.as_ref().ok_or(Inconsistent::NoTurn)?;
        if self.turns.contains_key(turn) {
            return Err(Inconsistent::DuplicateTurn { turn: turn.clone() });
        }
        let base = match (&record.base, self.requests.get(&event.author)) {
            (None, _) => None,
            (Some(base), Some(last)) if *base == last.turn => Some(last.request.clone()),
            (Some(base), _) => Some(Arc::new(
                resolve(&self.turns, before, base)
                    .ok_or_else(|| Inconsistent::UnknownBase { turn: base.clone() })?,
            )),
        };
        let whole = record.resolve(base.as_deref());
        let whole = whole
            .ok_or_else(|| Inconsistent::UnknownBase { turn: record.base.clone().unwrap_or(turn.clone()) })?;
        self.turns.insert(turn.clone(), before.len());
        let last = LastRequest { turn: turn.clone(), request: Arc::new(whole), at: None };
        self.requests.insert(event.author.clone(), last);
        Ok(())
    }

    fn take_result(&mut self, result: &ToolResult, at: usize) -> Result<(), Inconsistent> {
        let places = self
            .calls
            .get_mut(&result.call)
            .ok_or_else(|| Inconsistent::UnknownCall { call: result.call.clone() })?;
        if places.answered.is_some() {
            return Err(Inconsistent::AnsweredCall { call: result.call.clone() });
        }
        places.answered = Some(at);
        let calls = &self.calls;
        let all_answered = match &self.open_yield {
            Some(Yield::Tools { calls: waiting }) => waiting
                .iter()
                .all(|pending| calls.get(&pending.call).is_some_and(|places| places.answered.is_some())),
            _ => false,
        };
        if all_answered {
            self.close_yield();
        }
        Ok(())
    }

    fn close_yield(&mut self) {
        self.open_yield = None;
        self.resumed += 1;
    }
}

/// Rebuilds a request by following its bases; iterative, because a conversation can be long.
pub(super) fn resolve(
    turns: &IndexMap<TurnId, usize>,
    events: &[Arc<Event>],
    turn: &TurnId,
) -> Option<ModelRequest> {
    let mut chain = Vec::new();
    let mut next = Some(turn);
    while let Some(turn) = next {
        let EventBody::ModelRequest(record) = &events.get(*turns.get(turn)?)?.body else { return None };
        chain.push(record);
        next = record.base.as_ref();
    }
    let mut whole: Option<ModelRequest> = None;
    for record in chain.into_iter().rev() {
        whole = Some(record.resolve(whole.as_ref())?);
    }
    whole
}
