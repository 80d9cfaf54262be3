//! `conversation_flow`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown::share_of;
use super::{Evaluator, LooksAt};
use crate::judge::answer::{InvalidAnswer, all, cited, object, read, reasoning};
use crate::judge::record::{INSTRUCTIONS, Record};
use crate::view::View;
use crate::{Assessment, Question};

/// The conversation went through patterns, as a judge sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationFlow {
    /// The patterns.
    pub required_patterns: Vec<FlowPattern>,
    /// The share of them that must be there.
    pub flow_quality_threshold: f64,
}

/// Patterns of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowPattern {
    /// The agent asks, the user answers.
    QuestionThenAnswer,
    /// The user states a problem, the agent solves it.
    ProblemThenSolution,
    /// Something is made clear in several steps.
    ClarificationCycle,
    /// The agent shows that it cares before it solves.
    EmpathyThenSolution,
    /// The agent hands over where it should.
    EscalationPattern,
}

impl FlowPattern {
    const ALL: [Self; 5] = [
        Self::QuestionThenAnswer,
        Self::ProblemThenSolution,
        Self::ClarificationCycle,
        Self::EmpathyThenSolution,
        Self::EscalationPattern,
    ];
    const WORDS: &'static [&'static str] = &[
        Self::ALL[0].name(),
        Self::ALL[1].name(),
        Self::ALL[2].name(),
        Self::ALL[3].name(),
        Self::ALL[4].name(),
    ];

    /// The word that stands for it in a file.
    const fn name(self) -> &'static str {
        match self {
            Self::QuestionThenAnswer => "question_then_answer",
            Self::ProblemThenSolution => "problem_then_solution",
            Self::ClarificationCycle => "clarification_cycle",
            Self::EmpathyThenSolution => "empathy_then_solution",
            Self::EscalationPattern => "escalation_pattern",
        }
    }

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

impl Evaluator for ConversationFlow {
    const TYPE: &'static str = "conversation_flow";
    const ABOUT: &'static str = "The conversation went through patterns, as a judge sees it.";
    const LOOKS_AT: LooksAt = LooksAt::Conversation;
    const KEYS: &'static [Key] = &[
        Key::required(
            "required_patterns",
            Form::SomeWords("a pattern", FlowPattern::WORDS),
            "required_patterns: [question_then_answer]",
            "The patterns.",
        ),
        Key::or(
            "flow_quality_threshold",
            Form::Number(0.0, 1.0),
            "0.7",
            "The share of them, from 0 to 1, that passes.",
        ),
    ];
    const PAGE: &'static str = "\
The judge is asked for each by itself; the score is the share that it found.

| pattern | |
|---|---|
| `question_then_answer` | the agent asks, the user answers |
| `problem_then_solution` | the user states a problem, the agent solves it |
| `clarification_cycle` | something is made clear in more than one exchange |
| `empathy_then_solution` | the agent shows that it understands before it solves |
| `escalation_pattern` | the agent hands over what it cannot settle itself |

```yaml
- type: conversation_flow
  required_patterns: [problem_then_solution, empathy_then_solution]
  flow_quality_threshold: 0.5
```";

    fn read(given: &mut Given<'_>) -> Self {
        let words = given.texts("required_patterns").unwrap_or_default();
        let named = |word: &String| FlowPattern::ALL.into_iter().find(|pattern| pattern.name() == word);
        Self {
            required_patterns: words.iter().filter_map(named).collect(),
            flow_quality_threshold: given.number("flow_quality_threshold").unwrap_or(0.7),
        }
    }

    fn detail(&self) -> String {
        self.required_patterns.iter().map(|pattern| pattern.name()).collect::<Vec<_>>().join(", ")
    }

    fn needs_judge(&self) -> bool {
        true
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let question = |pattern: &FlowPattern| Question {
            instructions: INSTRUCTIONS.to_owned(),
            prompt: format!(
                "QUESTION\nDoes the conversation go through this pattern?\n{}\n\n{}\n\n\
                 Answer the question above: does the conversation show the pattern?",
                pattern.described(),
                Record::of(view).fenced()
            ),
            schema: object(json!({"reasoning": reasoning(), "shown": {"type": "boolean"}})),
            judge: None,
            temperature: None,
        };
        Assessment::ask(self.required_patterns.iter().map(question))
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let (patterns, threshold) = (&self.required_patterns, self.flow_quality_threshold);
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
            let events = cited(&reasoning, view.ledger);
            result.because_of(format!("{verb}: {}: {reasoning}", pattern.name()), events)
        }))
    }
}

#[derive(Deserialize)]
struct Opinion {
    reasoning: String,
    shown: bool,
}
