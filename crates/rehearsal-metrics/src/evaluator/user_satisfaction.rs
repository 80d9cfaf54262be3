//! `user_satisfaction`.

use std::fmt::Write as _;

use rehearsal_core::MetricResult;
use rehearsal_core::keys::{Form, Given, Key};
use serde::Deserialize;
use serde_json::{Value, json};

use super::shown::share_of;
use super::{Evaluator, LooksAt};
use crate::fold::folded;
use crate::judge::answer::{InvalidAnswer, all, cited, object, read, reasoning, share};
use crate::judge::record::{INSTRUCTIONS, Record};
use crate::view::View;
use crate::{Assessment, Question};

/// The user was content.
#[derive(Clone, Debug, PartialEq)]
pub struct UserSatisfaction {
    /// How content, from 0 to 1.
    pub satisfaction_threshold: f64,
    /// Words that show it, where the author names them.
    pub positive: Option<Vec<String>>,
    /// Words that show the opposite, where the author names them.
    pub negative: Option<Vec<String>>,
    /// How it is measured.
    pub measurement_method: SatisfactionMethod,
}

/// How satisfaction is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SatisfactionMethod {
    /// By words.
    KeywordAnalysis,
    /// By a judge who looks at how the mood goes.
    SentimentAnalysis,
    /// By a judge who looks at everything.
    LlmJudge,
}

impl SatisfactionMethod {
    const WORDS: &'static [&'static str] = &["keyword_analysis", "sentiment_analysis", "llm_judge"];

    fn named(word: &str) -> Option<Self> {
        match word {
            "keyword_analysis" => Some(Self::KeywordAnalysis),
            "sentiment_analysis" => Some(Self::SentimentAnalysis),
            "llm_judge" => Some(Self::LlmJudge),
            _ => None,
        }
    }
}

const INDICATORS: &[Key] = &[
    Key::optional("positive", Form::SomeTexts, "Those that show a content user."),
    Key::optional("negative", Form::SomeTexts, "Those that show the opposite."),
];

impl Evaluator for UserSatisfaction {
    const TYPE: &'static str = "user_satisfaction";
    const ABOUT: &'static str = "The user was content.";
    const LOOKS_AT: LooksAt = LooksAt::Conversation;
    const KEYS: &'static [Key] = &[
        Key::or(
            "satisfaction_threshold",
            Form::Number(0.0, 1.0),
            "0.7",
            "The score from 0 to 1 that passes; with 0 every score does.",
        ),
        Key::or(
            "measurement_method",
            Form::Word(SatisfactionMethod::WORDS),
            "\"llm_judge\"",
            "`keyword_analysis` counts words of the user, the others ask a judge.",
        ),
        Key::optional(
            "indicators",
            Form::Keys(INDICATORS),
            "`positive` and `negative`: words and phrases; each list replaces ours, and a judge is told of it.",
        ),
    ];
    const PAGE: &'static str = "\
| method | the score is |
|---|---|
| `keyword_analysis` | positive words ÷ all words of either list, in what the user said; whole words, in upper or lower \
case. Of phrases that begin at the same word the longest counts, so *not helpful* is not *helpful* |
| `sentiment_analysis` | what the judge makes of how the user's mood goes |
| `llm_judge` | what the judge makes of the whole conversation |

`keyword_analysis` cannot be decided when the user said no word of either list.

```yaml
- type: user_satisfaction
  satisfaction_threshold: 0.8
- type: user_satisfaction
  measurement_method: keyword_analysis
  indicators:
    positive: [thank you, solved]
    negative: [useless, still broken]
```";

    fn read(given: &mut Given<'_>) -> Self {
        let indicators = given.map("indicators");
        let words = |key: &str| {
            let items = indicators.as_ref()?.get(key)?.as_array()?;
            Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let (positive, negative) = (words("positive"), words("negative"));
        let method = given.some_text("measurement_method").and_then(|word| SatisfactionMethod::named(&word));
        Self {
            satisfaction_threshold: given.number("satisfaction_threshold").unwrap_or(0.7),
            positive,
            negative,
            measurement_method: method.unwrap_or(SatisfactionMethod::LlmJudge),
        }
    }

    fn detail(&self) -> String {
        format!("≥{}", self.satisfaction_threshold)
    }

    fn needs_judge(&self) -> bool {
        self.measurement_method != SatisfactionMethod::KeywordAnalysis
    }

    fn assess(&self, view: &View<'_>) -> Assessment {
        match self.measurement_method {
            SatisfactionMethod::KeywordAnalysis => self.by_words(view).into(),
            SatisfactionMethod::SentimentAnalysis => Assessment::ask([self.question(
                view,
                "How does the mood of the user go, from the first message to the last? Look at the user's words only, \
                 and weigh how the conversation ends more than how it begins.",
            )]),
            SatisfactionMethod::LlmJudge => Assessment::ask([self.question(
                view,
                "How satisfied is the user with the conversation? Look at whether the user got what they came for, \
                 with how much effort, and at what they say about it.",
            )]),
        }
    }

    fn conclude(&self, view: &View<'_>, answers: &[Value]) -> Result<MetricResult, InvalidAnswer> {
        let answer = &all(answers, 1)?[0];
        let Opinion { reasoning, score } = read(answer)?;
        let (score, threshold) = (share(score, answer)?, self.satisfaction_threshold);
        let message = format!("the judge says {score}, at least {threshold} asked for: {reasoning}");
        let events = cited(&reasoning, view.ledger);
        Ok(MetricResult::from_pass(score >= threshold).score(score).because_of(message, events))
    }
}

impl UserSatisfaction {
    /// Counts words of either kind in what the user said.
    fn by_words(&self, view: &View<'_>) -> MetricResult {
        let threshold = self.satisfaction_threshold;
        let mut phrases = phrases(Mood::Positive, self.positive.as_deref(), &POSITIVE);
        phrases.extend(self::phrases(Mood::Negative, self.negative.as_deref(), &NEGATIVE));
        // The longest first, so that "not helpful" is not taken for "helpful".
        phrases.sort_by_key(|(_, words)| std::cmp::Reverse(words.len()));
        let said = view.turns().iter().filter_map(|turn| turn.user.as_ref());
        let found: Vec<(u64, Mood, String)> = said
            .flat_map(|(seq, text)| find(text, &phrases).map(|(mood, words)| (*seq, mood, words)))
            .collect();
        let of = |mood: Mood| found.iter().filter(move |(_, found, _)| *found == mood);
        let (good, bad) = (of(Mood::Positive).count(), of(Mood::Negative).count());
        let Some(score) = share_of(good, good + bad) else {
            return MetricResult::unscored("the user said no word of either list");
        };
        let message = format!(
            "the user said {good} positive and {bad} negative words: {score:.2}, at least {threshold} asked for"
        );
        let mut result = MetricResult::from_pass(score >= threshold).score(score).because(message);
        for (name, mood) in [("positive", Mood::Positive), ("negative", Mood::Negative)] {
            let words: Vec<&str> = of(mood).map(|(.., words)| words.as_str()).collect();
            let mut events: Vec<u64> = of(mood).map(|(seq, ..)| *seq).collect();
            events.dedup();
            if !words.is_empty() {
                result = result.because_of(format!("{name}: {}", words.join(", ")), events);
            }
        }
        result
    }

    fn question(&self, view: &View<'_>, asked: &str) -> Question {
        let mut prompt = format!("QUESTION\n{asked}");
        for (what, words) in [("satisfied", &self.positive), ("not satisfied", &self.negative)] {
            if let Some(words) = words {
                let _ = write!(prompt, "\nSigns of a user who is {what}: {}.", words.join("; "));
            }
        }
        let _ = write!(
            prompt,
            "\n\n{}\n\nAnswer the question above by a number from 0 (not satisfied at all) to 1 (fully satisfied).",
            Record::of(view).fenced()
        );
        Question {
            instructions: INSTRUCTIONS.to_owned(),
            prompt,
            schema: object(json!({
                "reasoning": reasoning(),
                "score": {"type": "number", "minimum": 0, "maximum": 1},
            })),
            judge: None,
            temperature: None,
        }
    }
}

#[derive(Deserialize)]
struct Opinion {
    reasoning: String,
    score: f64,
}

/// What users say who are content.
const POSITIVE: [&str; 14] = [
    "thank you",
    "thanks",
    "great",
    "perfect",
    "excellent",
    "wonderful",
    "helpful",
    "helped",
    "appreciate",
    "glad",
    "happy",
    "solved",
    "fixed",
    "that works",
];

/// What users say who are not.
const NEGATIVE: [&str; 16] = [
    "frustrated",
    "frustrating",
    "annoyed",
    "annoying",
    "useless",
    "terrible",
    "awful",
    "unacceptable",
    "disappointed",
    "angry",
    "ridiculous",
    "unhelpful",
    "not helpful",
    "not happy",
    "doesn't work",
    "waste of time",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Positive,
    Negative,
}

/// What shows a mood: the author's words, or ours.
fn phrases(mood: Mood, named: Option<&[String]>, ours: &[&str]) -> Vec<(Mood, Vec<String>)> {
    let phrases: Vec<Vec<String>> = match named {
        Some(named) => named.iter().map(|phrase| words_of(phrase)).collect(),
        None => ours.iter().map(|phrase| words_of(phrase)).collect(),
    };
    phrases.into_iter().filter(|words| !words.is_empty()).map(|words| (mood, words)).collect()
}

/// The phrases that stand in a text, of two that begin at the same word the one that comes first in the list.
fn find(text: &str, phrases: &[(Mood, Vec<String>)]) -> impl Iterator<Item = (Mood, String)> {
    let words = words_of(text);
    let mut found = Vec::new();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let phrase = phrases.iter().find(|(_, phrase)| rest.starts_with(phrase));
        found.extend(phrase.map(|(mood, words)| (*mood, words.join(" "))));
        rest = &rest[phrase.map_or(1, |(_, words)| words.len())..];
    }
    found.into_iter()
}

/// The words of a text, in lower case.
fn words_of(text: &str) -> Vec<String> {
    let text = folded(text).replace('’', "'");
    let is_part = |character: char| character.is_alphanumeric() || character == '\'';
    let words = text.split(|character| !is_part(character)).map(|word| word.trim_matches('\''));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
