//! Rules: what to answer to what.

use std::fmt;
use std::sync::Arc;

use rehearsal_agent::{ModelCall, ModelError};
use rehearsal_core::ModelResponse;

use super::{Answerer, IntoAnswer, Matcher, Reply};

/// What to answer to calls that a matcher finds.
#[derive(Clone)]
pub struct Rule {
    matcher: Matcher,
    answer: Answerer,
}

/// A rule that does not say yet what to answer.
#[derive(Clone, Debug)]
pub struct RuleStart {
    matcher: Matcher,
}

impl Rule {
    /// Begins a rule for the calls that a matcher finds.
    pub fn when(matcher: Matcher) -> RuleStart {
        RuleStart { matcher }
    }

    /// Begins a rule for all calls that no rule before it matches.
    pub fn otherwise() -> RuleStart {
        Self::when(Matcher::any())
    }

    pub(super) fn matches(&self, call: &ModelCall) -> bool {
        self.matcher.matches(call)
    }

    pub(super) fn answer(&self, call: &ModelCall) -> Result<ModelResponse, ModelError> {
        (self.answer)(call)
    }
}

impl RuleStart {
    /// Answers with this.
    pub fn reply(self, reply: impl Into<Reply>) -> Rule {
        let reply = reply.into();
        self.reply_with(move |_| reply.clone())
    }

    /// Answers with what a function makes of the call.
    pub fn reply_with<A: IntoAnswer>(self, answer: impl Fn(&ModelCall) -> A + Send + Sync + 'static) -> Rule {
        Rule { matcher: self.matcher, answer: Arc::new(move |call| answer(call).into_answer()) }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "when {}", self.matcher)
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Rule").field(&self.matcher).finish()
    }
}
