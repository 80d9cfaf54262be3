//! `context_retention`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown::{share_of, short};
use super::{Evaluator, LooksAt};
use crate::fold::Case;
use crate::judge::answer::{InvalidAnswer, all, cited, object, read, reasoning, unusable};
use crate::judge::record::{INSTRUCTIONS, Record};
use crate::view::View;
use crate::{Assessment, Question};

/// The agent remembered what the user said, as a judge sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextRetention {
    /// What.
    pub test_memory_of: Vec<String>,
    /// For how many turns.
    pub retention_turns: u64,
    /// How well, from 0 to 1.
    pub memory_accuracy_threshold: f64,
}

impl Evaluator for ContextRetention {
    const TYPE: &'static str = "context_retention";
    const ABOUT: &'static str = "The agent remembered what the user said, as a judge sees it.";
    const LOOKS_AT: LooksAt = LooksAt::Conversation;
    const KEYS: &'static [Key] = &[
        Key::required(
            "test_memory_of",
            Form::SomeTexts,
            "test_memory_of: [the user's name]",
            "What, in words that the user says, or in a description such as `the user's name`.",
        ),
        Key::or(
            "retention_turns",
            Form::Whole(1.0, f64::INFINITY),
            "3",
            "How many turns after it was said are looked at.",
        ),
        Key::or("memory_accuracy_threshold", Form::Number(0.0, 1.0), "0.8", "The score that passes."),
    ];
    const PAGE: &'static str = "\
For each item, the first turn is looked for in which the user says it, in upper or lower case; where the user never says \
those words, the judge finds the turn in which it was meant. The judge then says for each of the next turns whether the \
agent still knows it. It does not where it asks again, contradicts it or acts as if it had not been said; a turn that \
does not depend on it counts as remembered. The score is the mean over the items of the share of turns.

Cannot be decided when the user never says an item, or says it only in the last turn.

```yaml
- type: context_retention
  test_memory_of: [peanuts, Friday]
  retention_turns: 2
```";

    fn read(given: &mut Given<'_>) -> Self {
        Self {
            test_memory_of: given.texts("test_memory_of").unwrap_or_default(),
            retention_turns: given.whole("retention_turns").unwrap_or(3),
            memory_accuracy_threshold: given.number("memory_accuracy_threshold").unwrap_or(0.8),
        }
    }

    fn detail(&self) -> String {
        short(&self.test_memory_of.join(", "))
    }

    fn needs_judge(&self) -> bool {
        true
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        match self.memories(view) {
            Ok(memories) => Assessment::ask(memories.iter().map(|memory| question(view, memory))),
            Err(why) => MetricResult::unscored(why).into(),
        }
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let threshold = self.memory_accuracy_threshold;
        let memories = match self.memories(view) {
            Ok(memories) => memories,
            Err(why) => return Ok(MetricResult::unscored(why)),
        };
        let answers = all(answers, memories.len())?;
        let mut shares = Vec::new();
        let mut told = Vec::new();
        for (memory, answer) in memories.iter().zip(answers) {
            let given: Answer = read(answer)?;
            let at = |number: usize| view.turns().iter().position(|turn| turn.number == number);
            let Some(said) = memory.said.or_else(|| given.said_in_turn.and_then(at)) else {
                return Ok(MetricResult::unscored(format!(
                    "the user never says anything about {:?}\n\nhint: name what the user tells the agent, in the \
                     user's words or in a description of it",
                    memory.item
                )));
            };
            let numbers = memory.numbers(view, said);
            if numbers.is_empty() {
                return Ok(MetricResult::unscored(format!(
                    "the user says {:?} only in the last turn, so nothing shows whether it is remembered",
                    memory.item
                )));
            }
            let of = |number: &usize| given.turns.iter().find(|turn| turn.turn == *number);
            let missing = numbers.iter().find(|number| of(number).is_none());
            if let Some(number) = missing {
                return Err(unusable(format!("it says nothing of turn {number}"), answer));
            }
            if let Some(number) =
                numbers.iter().find(|number| given.turns.iter().filter(|turn| turn.turn == **number).count() > 1)
            {
                return Err(unusable(format!("it says two things of turn {number}"), answer));
            }
            let turns: Vec<&Opinion> = numbers.iter().filter_map(of).collect();
            let kept = turns.iter().filter(|turn| turn.remembered).count();
            shares.extend(share_of(kept, turns.len()));
            told.push((
                format!("{:?} was remembered in {kept} of {} turns", memory.item, turns.len()),
                Vec::new(),
            ));
            for turn in turns.iter().filter(|turn| !turn.remembered) {
                let text =
                    format!("{:?} was not remembered in turn {}: {}", memory.item, turn.turn, turn.reasoning);
                told.push((text, cited(&turn.reasoning, view.ledger)));
            }
        }
        let Some(score) = mean(&shares) else {
            return Ok(MetricResult::unscored("nothing is to be remembered"));
        };
        let message =
            format!("the agent remembered {score:.2} of what it was told, at least {threshold} asked for");
        // Adding up shares may lose a last digit, which must not decide.
        let result = MetricResult::from_pass(score + 1e-9 >= threshold).score(score).because(message);
        Ok(told.into_iter().fold(result, |result, (text, events)| result.because_of(text, events)))
    }
}

/// Something that the user said and the agent should remember.
struct Memory<'s> {
    item: &'s str,
    /// Where in the turns the user said it in these words; else the judge finds where it was meant.
    said: Option<usize>,
    /// How many of the turns after that are looked at.
    turns: usize,
}

impl ContextRetention {
    /// What is to be remembered, with the turns in which it should be.
    ///
    /// # Errors
    /// The user said something only in the last turn.
    fn memories<'s>(&'s self, view: &View<'_>) -> Result<Vec<Memory<'s>>, String> {
        let retention_turns = self.retention_turns;
        let memory = |item: &'s String| {
            let says =
                |said: &Option<(u64, String)>| said.as_ref().is_some_and(|(_, text)| Case::Ignored.contains(text, item));
            let said = view.turns().iter().position(|turn| says(&turn.user));
            let Some(at) = said else {
                let left = view.turns().len().saturating_sub(1);
                if left == 0 {
                    return Err(format!(
                        "one turn shows nothing of whether {item:?} is remembered; more turns are needed"
                    ));
                }
                return Ok(Memory { item, said: None, turns: usize::try_from(retention_turns).unwrap_or(left) });
            };
            let left = view.turns().len() - at - 1;
            if left == 0 {
                return Err(format!(
                    "the user says {item:?} only in the last turn, so nothing shows whether it is remembered"
                ));
            }
            Ok(Memory { item, said, turns: left.min(usize::try_from(retention_turns).unwrap_or(left)) })
        };
        self.test_memory_of.iter().map(memory).collect()
    }
}

impl Memory<'_> {
    /// The numbers of the turns that are looked at when the user said it in this one.
    fn numbers(&self, view: &View<'_>, said: usize) -> Vec<usize> {
        view.turns().iter().skip(said + 1).take(self.turns).map(|turn| turn.number).collect()
    }
}

/// The question for something that the user may have said in other words: the judge finds where, too.
fn question_of_meaning(view: &View<'_>, memory: &Memory<'_>) -> Question {
    let numbers: Vec<usize> = view.turns().iter().map(|turn| turn.number).collect();
    let mut record = Record::default();
    record.turns(view.turns());
    Question {
        instructions: INSTRUCTIONS.to_owned(),
        prompt: format!(
            "QUESTION\nIn which turn does the user first tell the agent {:?}, in whatever words? Does the agent \
             still know it in each turn after that one?\nIt does not where it asks for it again, contradicts it, or \
             acts as if it had never been said. Where nothing in a turn depends on it, the agent counts as still \
             knowing it.\n\n{}\n\nAnswer with the number of that turn, or null where the user never tells it, and \
             for each turn after it by itself.",
            memory.item,
            record.fenced(),
        ),
        schema: object(json!({
            "said_in_turn": {"type": ["integer", "null"]},
            "turns": opinions(&numbers),
        })),
        judge: None,
        temperature: None,
    }
}

/// The form of what is said of each turn.
fn opinions(numbers: &[usize]) -> Value {
    json!({
        "type": "array",
        "items": object(json!({
            "turn": {"type": "integer", "enum": numbers},
            "reasoning": reasoning(),
            "remembered": {"type": "boolean"},
        })),
    })
}

fn question(view: &View<'_>, memory: &Memory<'_>) -> Question {
    let Some(said) = memory.said else { return question_of_meaning(view, memory) };
    let numbers = memory.numbers(view, said);
    let list: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    let mut record = Record::default();
    record.turns(&view.turns()[said..=said + numbers.len()]);
    Question {
        instructions: INSTRUCTIONS.to_owned(),
        prompt: format!(
            "QUESTION\nIn turn {} the user says something about {:?}. Does the agent still know it in each of \
             these turns: {}?\nIt does not where it asks for it again, contradicts it, or acts as if it had never \
             been said. Where nothing in a turn depends on it, the agent counts as still knowing it.\n\n{}\n\n\
             Answer the question above for each of the turns {} by itself.",
            view.turns()[said].number,
            memory.item,
            list.join(", "),
            record.fenced(),
            list.join(", "),
        ),
        schema: object(json!({
            "turns": opinions(&numbers),
        })),
        judge: None,
        temperature: None,
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    said_in_turn: Option<usize>,
    turns: Vec<Opinion>,
}

#[derive(Deserialize)]
struct Opinion {
    turn: usize,
    reasoning: String,
    remembered: bool,
}

#[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53")]
fn mean(shares: &[f64]) -> Option<f64> {
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}
