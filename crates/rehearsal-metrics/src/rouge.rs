//! ROUGE-1 as the Agent Development Kit computes it for `response_match_score`.

mod stem;

use std::collections::BTreeMap;

use rehearsal_core::{Content, Part};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub use stem::porter_stem;

/// How much two texts overlap, word by word.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rouge {
    /// The share of the candidate's words that the reference has too.
    pub precision: f64,
    /// The share of the reference's words that the candidate has too.
    pub recall: f64,
    /// The harmonic mean of both, which is ADK's score.
    pub f1: f64,
}

/// Compares a candidate with a reference as google-adk 2.13 does.
///
/// Words count as often as they occur, in any order, after stemming. A text without words, such as an empty one,
/// scores 0 even against itself.
///
/// ```
/// use rehearsal_metrics::rouge1;
///
/// assert_eq!(rouge1("The patient was escalated!", "escalating the patients").recall, 1.0);
/// assert_eq!(rouge1("", "").f1, 0.0);
/// ```
pub fn rouge1(candidate: &str, reference: &str) -> Rouge {
    let (candidate, reference) = (rouge_tokens(candidate), rouge_tokens(reference));
    let mut open: BTreeMap<&str, usize> = BTreeMap::new();
    for word in &reference {
        *open.entry(word).or_default() += 1;
    }
    let mut common = 0;
    for word in &candidate {
        if let Some(count) = open.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    let precision = share(common, candidate.len());
    let recall = share(common, reference.len());
    let f1 = if common > 0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 };
    Rouge { precision, recall, f1 }
}

/// The words that [`rouge1`] compares.
///
/// The text is brought to NFKC and lower case. Han, kana and hangul characters are words of their own, Thai, Lao,
/// Khmer and Myanmar ones together with the marks that follow them; elsewhere a word is a run of letters, digits
/// and marks. Words of ASCII letters and digits are stemmed when they have more than three characters.
///
/// ```
/// assert_eq!(rehearsal_metrics::rouge_tokens("Running, 東京 naïvely"), ["run", "東", "京", "naïvely"]);
/// ```
pub fn rouge_tokens(text: &str) -> Vec<String> {
    let normal: String = text.nfkc().collect();
    let mut spaced = String::with_capacity(normal.len());
    for character in normal.to_lowercase().chars() {
        if is_split_singly(character) {
            spaced.extend([' ', character, ' ']);
        } else if is_unspaced(character) {
            if !is_combining_mark(character) {
                spaced.push(' ');
            }
            spaced.push(character);
        } else if is_word_character(character) {
            spaced.push(character);
        } else {
            spaced.push(' ');
        }
    }
    spaced.split(' ').filter(|word| !word.is_empty()).map(normal_form).collect()
}

/// A content's text as ADK's response match reads it: all its text parts that are not empty, joined by line breaks.
///
/// Unlike [`Content::text`] this does not leave thoughts out, because ADK does not.
pub fn adk_text(content: &Content) -> String {
    let texts = content.parts.iter().filter_map(Part::as_text).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n")
}

fn normal_form(word: &str) -> String {
    // A word that is all ASCII holds letters and digits only: everything else became a space.
    if word.is_ascii() && word.len() > 3 { porter_stem(word) } else { word.to_owned() }
}

#[expect(clippy::cast_precision_loss, reason = "no text has 2^53 words")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Unified ideographs, hiragana, katakana and hangul syllables.
fn is_split_singly(character: char) -> bool {
    matches!(character,
        '\u{4e00}'..='\u{9fff}' | '\u{3040}'..='\u{309f}' | '\u{30a0}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}')
}

/// Thai, Lao, Khmer and Myanmar, which write no spaces between words.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1780}'..='\u{17ff}' | '\u{1000}'..='\u{109f}')
}

/// Python's `isalnum` or a mark.
///
/// Rust also counts the negative circled and squared Latin letters (🅐, 🅰) as alphabetic, which Python knows as
/// symbols. With these taken out the two agree on every character that Unicode 15.1, the tables of Python 3.13,
/// assigns; characters that are newer are letters here and spaces there.
fn is_word_character(character: char) -> bool {
    let is_lettered_symbol = matches!(character, '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    (character.is_alphanumeric() && !is_lettered_symbol) || is_combining_mark(character)
}
