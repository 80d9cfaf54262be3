//! `similar`.

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{At, Complaint, Form, Given, Key};
use serde_json::{Value, json};

use super::check_program::{CheckProgram, CheckRequest};
use super::shown::{quoted, short, silent};
use super::{Evaluator, LooksAt};
use crate::fold::folded;
use crate::judge::answer;
use crate::view::View;
use crate::{Assessment, InvalidAnswer, Request, rouge_tokens, rouge1};

/// How much of a text is compared letter by letter, in characters: the work grows with the square.
const LONGEST: usize = 20_000;

/// The reply is like another text.
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    /// The other text.
    pub to: String,
    /// How they are compared.
    pub method: Similarity,
    /// The score from which on it passes.
    pub threshold: f64,
}

/// How texts are compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Similarity {
    /// By how many letters have to be changed.
    Edit,
    /// By the words that they have in common, in any order (ROUGE-1).
    Rouge1,
    /// By the longest sequence of words that they have in common (ROUGE-L).
    RougeL,
    /// By the angle between what a model makes of them; the model, by its key in `models`.
    Embedding(CheckProgram),
}

impl Evaluator for Similar {
    const TYPE: &'static str = "similar";
    const ABOUT: &'static str = "The reply is like another text.";
    const LOOKS_AT: LooksAt = LooksAt::Reply;
    const OF_REPLIES: bool = true;
    const KEYS: &'static [Key] = &[
        Key::required(
            "to",
            Form::TellingText("nothing is like the empty text"),
            "to: Your refund is on its way.",
            "The other text.",
        ),
        Key::or(
            "method",
            Form::Word(&["edit", "rouge_1", "rouge_l", "embedding"]),
            "\"rouge_l\"",
            "How they are compared.",
        ),
        Key::or("threshold", Form::Number(0.0, 1.0), "0.8", "The score from which on it passes, above 0."),
        Key::optional(
            "model",
            Form::Text,
            "The model that makes embeddings: `openai:text-embedding-3-small`, or `openai-compatible:MODEL@ADDRESS` for \
             any server with the same interface. Only with `method: embedding`.",
        ),
    ];
    const PAGE: &'static str = "\
| method | score |
|---|---|
| `edit` | 1 − letters to change, add or remove ÷ letters of the longer text; upper and lower case, and white space around, do not count |
| `rouge_1` | F1 of the words in common, in any order, stemmed |
| `rouge_l` | F1 of the longest common sequence of words, stemmed |
| `embedding` | cosine of the two embeddings, at least 0; asks for `model` |

```yaml
- type: similar
  to: Your refund of 23.50 is on its way.
  method: rouge_l
  threshold: 0.6
```";

    fn rules() -> Value {
        let embeds = json!({"required": ["method"], "properties": {"method": {"const": "embedding"}}});
        json!({
            "allOf": [
                {"if": embeds, "then": {"required": ["model"]}, "else": {"not": {"required": ["model"]}}},
                {"properties": {"threshold": {"exclusiveMinimum": 0}}},
            ],
        })
    }

    fn read(given: &mut Given<'_>) -> Self {
        let method = given.some_text("method");
        let model = given.some_text("model");
        let method = match (method.as_deref(), model) {
            (Some("embedding"), Some(model)) => Similarity::Embedding(CheckProgram::Embedding { model }),
            (Some("embedding"), None) => {
                let message = "`method: embedding` asks for a model that makes embeddings";
                let complaint = Complaint::spoils("missing-key", At::Name("method"), message);
                given.complain(complaint.help("add: model: openai:text-embedding-3-small"));
                Similarity::RougeL
            }
            (other, model) => {
                if model.is_some() {
                    let message = "only `method: embedding` asks a model";
                    let complaint = Complaint::no_effect("no-effect", At::Name("model"), message);
                    given.complain(complaint.help("remove `model`, or write: method: embedding"));
                }
                match other {
                    Some("edit") => Similarity::Edit,
                    Some("rouge_1") => Similarity::Rouge1,
                    _ => Similarity::RougeL,
                }
            }
        };
        let threshold = given.number("threshold").unwrap_or(0.8);
        if threshold <= 0.0 {
            let message = "every score reaches a `threshold` of 0";
            let complaint = Complaint::no_effect("always-true", At::Name("threshold"), message);
            given.complain(complaint.help("write one above 0"));
        }
        Self { to: given.text("to"), method, threshold }
    }

    fn detail(&self) -> String {
        format!("to {:?} ≥{}", short(&self.to), self.threshold)
    }

    fn programs(&self) -> Vec<&CheckProgram> {
        match &self.method {
            Similarity::Embedding(program) => vec![program],
            Similarity::Edit | Similarity::Rouge1 | Similarity::RougeL => Vec::new(),
        }
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        let Some((seq, text)) = view.reply() else { return silent(view).into() };
        let score = match &self.method {
            Similarity::Edit => {
                if text.chars().count().max(self.to.chars().count()) > LONGEST {
                    let why = format!("texts of more than {LONGEST} letters are not compared letter by letter");
                    return MetricResult::unscored(why).because("`rouge_l` compares longer ones").into();
                }
                edit_similarity(&folded(text.trim()), &folded(self.to.trim()))
            }
            Similarity::Rouge1 => rouge1(&text, &self.to).f1,
            Similarity::RougeL => rouge_l(&text, &self.to),
            Similarity::Embedding(program) => {
                let record = json!({"texts": [text, self.to]});
                let request = CheckRequest { program: program.clone(), args: serde_json::Map::new(), record };
                return Assessment::ask([Request::Check(request)]);
            }
        };
        self.result(view, seq, &text, score).into()
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let [given] = answer::all(answers, 1)? else { unreachable!("it was counted") };
        let vector = |index: usize| -> Option<Vec<f64>> {
            given.get("embeddings")?.get(index)?.as_array()?.iter().map(rehearsal_core::json::as_f64).collect()
        };
        let (Some(one), Some(other)) = (vector(0), vector(1)) else {
            return Err(answer::unusable("it has no two lists of numbers", given));
        };
        let Some(score) = cosine(&one, &other) else {
            return Err(answer::unusable("its embeddings cannot be compared", &Value::Null));
        };
        Ok(match view.reply() {
            Some((seq, text)) => self.result(view, seq, &text, score),
            None => silent(view),
        })
    }
}

impl Similar {
    fn result(&self, view: &View<'_>, seq: u64, text: &str, score: f64) -> MetricResult {
        let (name, threshold) = (view.text_name(), self.threshold);
        let passed = score >= threshold;
        let message =
            format!("the {name} is {score:.2} like the text, and {threshold} was asked for: {}", quoted(text));
        MetricResult::from_pass(passed).score(score).because_of(message, [seq])
    }
}

/// How alike two texts are, letter by letter.
#[expect(clippy::cast_precision_loss, reason = "texts are shorter than 2^53")]
fn edit_similarity(one: &str, other: &str) -> f64 {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let longest = one.len().max(other.len());
    if longest == 0 {
        return 1.0;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = index + 1;
        for (place, wanted) in other.iter().enumerate() {
            let change = corner + usize::from(letter != wanted);
            corner = row[place + 1];
            row[place + 1] = change.min(row[place] + 1).min(corner + 1);
        }
    }
    1.0 - row[other.len()] as f64 / longest as f64
}

/// How long the longest sequence of words is that two texts have in common, as F1.
#[expect(clippy::cast_precision_loss, reason = "texts are shorter than 2^53")]
fn rouge_l(candidate: &str, reference: &str) -> f64 {
    let (candidate, reference) = (rouge_tokens(candidate), rouge_tokens(reference));
    if candidate.is_empty() || reference.is_empty() {
        return 0.0;
    }
    let mut row = vec![0_usize; reference.len() + 1];
    for word in &candidate {
        let mut corner = 0;
        for (place, wanted) in reference.iter().enumerate() {
            let above = row[place + 1];
            row[place + 1] = if word == wanted { corner + 1 } else { above.max(row[place]) };
            corner = above;
        }
    }
    let common = row[reference.len()] as f64;
    let (precision, recall) = (common / candidate.len() as f64, common / reference.len() as f64);
    if common > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 }
}

/// The cosine of the angle between two vectors, at least 0; nothing where there is none.
fn cosine(one: &[f64], other: &[f64]) -> Option<f64> {
    if one.len() != other.len() || one.is_empty() {
        return None;
    }
    let dot: f64 = one.iter().zip(other).map(|(a, b)| a * b).sum();
    let length = |vector: &[f64]| vector.iter().map(|a| a * a).sum::<f64>().sqrt();
    let lengths = length(one) * length(other);
    (lengths > 0.0 && dot.is_finite()).then(|| (dot / lengths).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_change_count() {
        let same = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(same(edit_similarity("kitten", "sitting"), 1.0 - 3.0 / 7.0));
        assert!(same(edit_similarity("", ""), 1.0));
        assert!(same(edit_similarity("a", ""), 0.0));
        assert!(same(rouge_l("the cat sat", "the cat ran away"), 2.0 * (2.0 / 3.0) * 0.5 / (2.0 / 3.0 + 0.5)));
        assert_eq!(cosine(&[1.0, 0.0], &[0.0, 0.0]), None);
        assert_eq!(cosine(&[2.0, 0.0], &[5.0, 0.0]), Some(1.0));
    }
}
