//! How long a conversation was, and what it went through.

use rehearsal_core::MetricResult;
use rehearsal_metrics::Question;
use serde::Deserialize;
use serde_json::{Value, json};

use super::judge::share_of;
use super::reasoning::{all, cited, object, read, reasoning};
use super::record::{INSTRUCTIONS, Record};
use super::scene::Scene;
use crate::file::FlowPattern;

pub(super) fn length(
    scene: &Scene<'_>,
    (least, most): (Option<u64>, Option<u64>),
    range: Option<(u64, u64)>,
    optimal: Option<u64>,
) -> MetricResult {
    let turns = scene.turns.len() as u64;
    let (from, to) = range.unzip();
    let least = least.max(from);
    let most = [most, to].into_iter().flatten().min();
    let passed = least.is_none_or(|least| turns >= least) && most.is_none_or(|most| turns <= most);
    let asked = match (least, most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "any number".to_owned(),
    };
    let said = scene.turns.iter().filter_map(|turn| turn.user.as_ref().map(|(seq, _)| *seq));
    let message = format!("the conversation had {turns} turns, {asked} asked for");
    let result = MetricResult::from_pass(passed).value(turns).because_of(message, said);
    match optimal {
        Some(optimal) => {
            result.because(format!("{} turns from the optimum of {optimal}", turns.abs_diff(optimal)))
        }
        None => result,
    }
}

impl FlowPattern {
    /// What a judge looks for.
    fn described(self) -> &'static str {
        match self {
            Self::QuestionThenAnswer => {
                "The agent asks the user something, and the user answers it in a later message."
            }
            Self::ProblemThenSolution => {
                "The user states a problem, and the agent later gives a solution to that problem."
            }
            Self::ClarificationCycle => {
                "Something unclear is made clear in more than one exchange: at least two times one side asks \
                 what is meant and the other explains."
            }
            Self::EmpathyThenSolution => {
                "The agent shows that it understands how the user feels or what the trouble means to them, and \
                 only then gives a solution."
            }
            Self::EscalationPattern => {
                "The agent meets something that it cannot or must not settle itself, and hands it over to a person \
                 or a team that can, or offers to."
            }
        }
    }
}

pub(super) fn questions(scene: &Scene<'_>, patterns: &[FlowPattern]) -> Vec<Question> {
    let question = |pattern: &FlowPattern| Question {
        instructions: INSTRUCTIONS.to_owned(),
        prompt: format!(
            "QUESTION\nDoes the conversation go through this pattern?\n{}\n\n{}\n\n\
             Answer the question above: does the conversation show the pattern?",
            pattern.described(),
            Record::of(scene).fenced()
        ),
        schema: object(json!({"reasoning": reasoning(), "shown": {"type": "boolean"}})),
        judge: None,
        temperature: None,
    };
    patterns.iter().map(question).collect()
}

#[derive(Deserialize)]
struct Opinion {
    reasoning: String,
    shown: bool,
}

pub(super) fn conclude(
    scene: &Scene<'_>,
    patterns: &[FlowPattern],
    threshold: f64,
    answers: &[Value],
) -> Result<MetricResult, String> {
    let answers = all(answers, patterns.len())?;
    let opinions: Vec<Opinion> = answers.iter().map(read).collect::<Result<_, _>>()?;
    let shown = opinions.iter().filter(|opinion| opinion.shown).count();
    let Some(share) = share_of(shown, patterns.len()) else {
        return Ok(MetricResult::unscored("no patterns are asked for"));
    };
    let message = format!(
        "the conversation shows {shown} of {} patterns, a share of {threshold} asked for",
        patterns.len()
    );
    let result = MetricResult::from_pass(share >= threshold).score(share).because(message);
    Ok(patterns.iter().zip(opinions).fold(result, |result, (pattern, Opinion { reasoning, shown })| {
        let verb = if shown { "shown" } else { "not shown" };
        let events = cited(&reasoning, scene.ledger);
        result.because_of(format!("{verb}: {}: {reasoning}", pattern.name()), events)
    }))
}
