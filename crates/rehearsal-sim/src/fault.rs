//! Whose doing it is that a case did not pass.

use rehearsal_core::{EndReason, Failure, Fault, Phase, Verdict};

/// The word for what a budget ended.
pub const BUDGET: &str = "budget";

/// Whose doing it is that a case came to this, from how it ended and the kind of what went wrong. Nobody's where it passed
/// or nothing judged it.
pub fn fault_of(verdict: Verdict, end: EndReason, error: Option<&Failure>) -> Option<Fault> {
    match (verdict, end, error) {
        (Verdict::Passed | Verdict::Unjudged, _, _) => None,
        (Verdict::Terminated, EndReason::Cancelled, _) => Some(Fault::Infrastructure),
        (Verdict::Failed | Verdict::Terminated, _, _) | (Verdict::Error, _, None) => Some(Fault::Agent),
        (Verdict::Error, _, Some(failure)) => Some(of_failure(failure)),
    }
}

/// Whose doing something is that went wrong, by the phase and the word for its kind.
pub fn of_failure(failure: &Failure) -> Fault {
    match (failure.phase, failure.kind.as_str()) {
        (_, BUDGET) => Fault::Budget,
        (Phase::Metric, _) | (_, "judge") => Fault::Judge,
        // A model that does not answer is its provider's doing, or that of a script without an answer.
        (
            _,
            "model" | "panic" | "store" | "journal" | "ledger" | "no_people" | "invalid_case" | "setup"
            | "environment" | "code" | "output_limit" | "expression" | "invalid_schema" | "not_awaited"
            | "stopped" | "unended",
        ) => Fault::Infrastructure,
        (Phase::UserAgent, _) | (_, "dismissed") => Fault::User,
        (
            _,
            "unmocked_tool" | "mock_exhausted" | "mock_matcher" | "mock_response" | "mock_timeout" | "world"
            | "not_an_agent" | "invalid_answer",
        ) => Fault::Tool,
        // What the agent's own code, its answers and its endless rounds come to; and what nobody has named says something
        // about the agent until somebody does.
        (Phase::System, _) => Fault::Agent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(phase: Phase, kinds: &[&str], expected: Fault) {
        for kind in kinds {
            let failure = Failure { phase, kind: (*kind).to_owned(), message: "the judge broke".to_owned() };
            assert_eq!(
                fault_of(Verdict::Error, EndReason::Error, Some(&failure)),
                Some(expected),
                "{phase} {kind}"
            );
        }
    }

    #[test]
    fn it_follows_from_the_kind_and_never_from_the_words() {
        check(
            Phase::System,
            &["agent", "too_many_rounds", "invalid_output", "turn_too_large", "new"],
            Fault::Agent,
        );
        check(Phase::System, &["model", "panic", "journal", "setup", "environment"], Fault::Infrastructure);
        check(Phase::System, &["unmocked_tool", "mock_exhausted", "world", "mock_matcher"], Fault::Tool);
        check(Phase::UserAgent, &["role_break", "timeout", "bridge", "user_agent"], Fault::User);
        check(Phase::UserAgent, &["model"], Fault::Infrastructure);
        check(Phase::Metric, &["metric", "judge", "model"], Fault::Judge);
        check(Phase::System, &["judge"], Fault::Judge);
        check(Phase::System, &["budget"], Fault::Budget);
    }

    #[test]
    fn limits_are_the_agents_and_interruptions_nobodys_of_those_who_play() {
        let of = |verdict, end| fault_of(verdict, end, None);
        assert_eq!(of(Verdict::Terminated, EndReason::MaxTurns), Some(Fault::Agent));
        assert_eq!(of(Verdict::Terminated, EndReason::Cancelled), Some(Fault::Infrastructure));
        assert_eq!(of(Verdict::Failed, EndReason::Completed), Some(Fault::Agent));
        assert_eq!(of(Verdict::Passed, EndReason::Completed), None);
        assert_eq!(of(Verdict::Unjudged, EndReason::Completed), None);
    }
}
