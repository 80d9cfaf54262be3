//! How content the user was.

use std::fmt::Write as _;

use rehearsal_core::MetricResult;
use rehearsal_metrics::Question;
use serde::Deserialize;
use serde_json::{Value, json};

use super::judge::share_of;
use super::reasoning::{all, cited, object, read, reasoning, share};
use super::record::{INSTRUCTIONS, Record};
use super::scene::Scene;
use crate::file::SatisfactionMethod;

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

/// Counts words of either kind in what the user said.
pub(super) fn by_words(
    scene: &Scene<'_>,
    positive: Option<&[String]>,
    negative: Option<&[String]>,
    threshold: f64,
) -> MetricResult {
    let mut phrases = phrases(Mood::Positive, positive, &POSITIVE);
    phrases.extend(self::phrases(Mood::Negative, negative, &NEGATIVE));
    // The longest first, so that "not helpful" is not taken for "helpful".
    phrases.sort_by_key(|(_, words)| std::cmp::Reverse(words.len()));
    let said = scene.turns.iter().filter_map(|turn| turn.user.as_ref());
    let found: Vec<(u64, Mood, String)> =
        said.flat_map(|(seq, text)| find(text, &phrases).map(|(mood, words)| (*seq, mood, words))).collect();
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
    let text = text.to_lowercase().replace('’', "'");
    let is_part = |character: char| character.is_alphanumeric() || character == '\'';
    let words = text.split(|character| !is_part(character)).map(|word| word.trim_matches('\''));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(super) fn question(
    scene: &Scene<'_>,
    method: SatisfactionMethod,
    (positive, negative): (Option<&[String]>, Option<&[String]>),
) -> Question {
    let asked = match method {
        SatisfactionMethod::SentimentAnalysis => {
            "How does the mood of the user go, from the first message to the last? Look at the user's words only, \
             and weigh how the conversation ends more than how it begins."
        }
        SatisfactionMethod::LlmJudge | SatisfactionMethod::KeywordAnalysis => {
            "How satisfied is the user with the conversation? Look at whether the user got what they came for, \
             with how much effort, and at what they say about it."
        }
    };
    let mut prompt = format!("QUESTION\n{asked}");
    for (what, words) in [("satisfied", positive), ("not satisfied", negative)] {
        if let Some(words) = words {
            let _ = write!(prompt, "\nSigns of a user who is {what}: {}.", words.join("; "));
        }
    }
    let _ = write!(
        prompt,
        "\n\n{}\n\nAnswer the question above by a number from 0 (not satisfied at all) to 1 (fully satisfied).",
        Record::of(scene).fenced()
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

#[derive(Deserialize)]
struct Opinion {
    reasoning: String,
    score: f64,
}

pub(super) fn conclude(scene: &Scene<'_>, threshold: f64, answers: &[Value]) -> Result<MetricResult, String> {
    let answer = &all(answers, 1)?[0];
    let Opinion { reasoning, score } = read(answer)?;
    let score = share(score, answer)?;
    let message = format!("the judge says {score}, at least {threshold} asked for: {reasoning}");
    let events = cited(&reasoning, scene.ledger);
    Ok(MetricResult::from_pass(score >= threshold).score(score).because_of(message, events))
}
