//! ROUGE-1 and its stemmer against the libraries that ADK uses: rouge-score and NLTK.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rehearsal_core::Chance;
use rehearsal_metrics::{Rouge, porter_stem, rouge1};
use serde_json::{Value, json};

/// Beginnings of words: short and long, with `y` in every role, doubled consonants, and the irregular ones.
#[rustfmt::skip]
const BEGINNINGS: &[&str] = &[
    "", "a", "e", "y", "b", "by", "say", "toy", "yy", "syzyg", "sk", "d", "l", "t", "inn", "out", "cann",
    "how", "proc", "exc", "succ", "fl", "sp", "tr", "cr", "pl", "car", "pon", "cat", "fe", "agr", "plaster",
    "bl", "mot", "motor", "s", "confl", "conflat", "troubl", "siz", "hop", "hopp", "tann", "fall", "hiss",
    "fizz", "fail", "fil", "happ", "enj", "relat", "condit", "rat", "val", "hesit", "digit", "conform",
    "radic", "differ", "vil", "analog", "vietnam", "predic", "oper", "feud", "decis", "hopef", "call",
    "form", "sensit", "sensib", "triplic", "electr", "good", "reviv", "allow", "infer", "airlin",
    "gyroscop", "adjust", "defens", "irrit", "replac", "depend", "adopt", "homolog", "commun", "activ",
    "angular", "effect", "bowdler", "prob", "ceas", "controll", "roll", "geo", "theo", "philo", "bio",
    "equ", "aqu", "wor", "wax", "box", "snow", "stay", "obey", "employ", "bead", "speed", "covid19", "b2",
    "3d", "patient", "emergenc", "appoint", "escalat", "symptom", "diagnos", "hypertens", "medic", "clin",
    "breath", "chest", "cardi", "prescri", "recommend", "schedul", "xyz", "oo", "aa", "ll", "ss",
];

/// Ends of words: all the suffixes the algorithm knows, some others, and pairs that meet in two steps.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "", "s", "es", "ies", "sses", "ss", "ied", "ed", "eed", "ing", "ings", "y", "ys", "ying", "yed",
    "ational", "tional", "enci", "ency", "anci", "ancy", "izer", "izers", "bli", "bly", "abli", "ably",
    "ibly", "alli", "ally", "entli", "ently", "eli", "ely", "ousli", "ously", "ization", "ation", "ations",
    "ator", "ators", "alism", "iveness", "fulness", "ousness", "aliti", "ality", "iviti", "ivity", "biliti",
    "bility", "fulli", "fully", "logi", "logy", "logies", "icate", "ative", "alize", "alizing", "iciti",
    "icity", "ical", "ically", "ful", "ness", "al", "ance", "ence", "er", "ers", "ic", "able", "ible",
    "ant", "ement", "ment", "ements", "ent", "sion", "tion", "ion", "ou", "ism", "ate", "ating", "ated",
    "iti", "ous", "ive", "ize", "ized", "izing", "e", "ee", "ll", "lled", "lling", "ational", "ationally",
    "fulnesses", "ed2", "ly", "ogi", "ational1",
];

/// Words of the sentences, so few that sentences overlap.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "the", "patient", "patients", "call", "called", "calling", "999", "emergency", "emergencies", "Chest",
    "pain", "pains", "is", "was", "severe", "severely", "it's", "don't", "e-mail", "GP", "escalate",
    "escalated", "escalation", "now", "NOW!", "dying", "die", "skies", "sky", "2,000", "snake_case",
    "(aspirin)", "a", "I", "...", "running", "runner", "runs", "yyyy", "proceed", "proceeding",
];

#[test]
fn stems_and_scores_are_those_of_the_libraries() {
    let words: BTreeSet<String> =
        BEGINNINGS.iter().flat_map(|start| ENDS.iter().map(move |end| format!("{start}{end}"))).collect();
    let pairs: Vec<(String, String)> = (0..3_000).map(|n| (sentence(2 * n), sentence(2 * n + 1))).collect();
    assert!(words.len() > 5_000, "{} words", words.len());
    let answer = ask(&json!({"words": words, "pairs": pairs}));

    let stems = answer["stems"].as_array().unwrap();
    assert_eq!(stems.len(), words.len());
    for (word, stem) in words.iter().zip(stems) {
        assert_eq!(porter_stem(word), stem.as_str().unwrap(), "the stem of {word:?}");
    }

    let scores = answer["scores"].as_array().unwrap();
    assert_eq!(scores.len(), pairs.len());
    for ((candidate, reference), score) in pairs.iter().zip(scores) {
        let part = |index: usize| score[index].as_str().unwrap().parse().unwrap();
        let expected = Rouge { precision: part(0), recall: part(1), f1: part(2) };
        assert_eq!(rouge1(candidate, reference), expected, "{candidate:?} against {reference:?}");
    }
    println!("{} stems and {} pairs of sentences agree", words.len(), pairs.len());
}

fn sentence(number: u64) -> String {
    let mut rng = Chance::seeded(13).rng("sentence", number);
    let length = rng.usize(0..15);
    let words: Vec<&str> = (0..length).map(|_| WORDS[rng.usize(..WORDS.len())]).collect();
    words.join(" ")
}

fn ask(question: &Value) -> Value {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = std::env::var_os("REHEARSAL_ORACLE_PYTHON")
        .map_or_else(|| workspace.join("target/oracle/venv/bin/python"), PathBuf::from);
    assert!(python.exists(), "there is no {}: run `cargo xtask setup`", python.display());
    let mut oracle = Command::new(&python)
        .arg(workspace.join("oracle/python/rouge.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| {
            panic!("{} does not start ({error}): run `cargo xtask setup`", python.display())
        });
    // The script reads everything before it writes, so neither side can wait for the other.
    let mut input = oracle.stdin.take().expect("its input is piped");
    input.write_all(question.to_string().as_bytes()).expect("the oracle reads its input");
    drop(input);
    let output = oracle.wait_with_output().expect("the oracle ends");
    assert!(output.status.success(), "the oracle failed: run `cargo xtask setup`");
    rehearsal_core::json::from_slice(&output.stdout).expect("the oracle writes JSON")
}
