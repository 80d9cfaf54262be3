//! Porter's stemmer with the extensions of the Natural Language Toolkit.

/// The stem of an English word, as NLTK's `PorterStemmer` gives it by default.
///
/// It is Porter's algorithm of 1980 with a list of irregular words and a few rules changed, so that for instance
/// `dies` and `died` become `die` and `enjoy` keeps its end.
///
/// ```
/// use rehearsal_metrics::porter_stem;
///
/// assert_eq!(porter_stem("relational"), "relat");
/// assert_eq!(porter_stem("Dying"), "die");
/// ```
pub fn porter_stem(word: &str) -> String {
    let lower = word.to_lowercase();
    if let Some((_, stem)) = IRREGULAR.iter().find(|(form, _)| *form == lower) {
        return (*stem).to_owned();
    }
    if word.chars().nth(2).is_none() {
        return lower;
    }
    let steps =
        [plurals, past_and_gerund, final_y, double_suffixes, adjective_suffixes, suffixes, final_e, double_l];
    steps.into_iter().fold(lower, step)
}

fn step(word: String, apply: fn(&str) -> Option<String>) -> String {
    apply(&word).unwrap_or(word)
}

#[rustfmt::skip]
const IRREGULAR: [(&str, &str); 16] = [
    ("sky", "sky"), ("skies", "sky"), ("dying", "die"), ("lying", "lie"), ("tying", "tie"),
    ("news", "news"), ("innings", "inning"), ("inning", "inning"), ("outings", "outing"),
    ("outing", "outing"), ("cannings", "canning"), ("canning", "canning"), ("howe", "howe"),
    ("proceed", "proceed"), ("exceed", "exceed"), ("succeed", "succeed"),
];

/// What a suffix becomes. In a list the first that fits decides, even where its condition then fails.
type Rule = (&'static str, &'static str);

#[rustfmt::skip]
const DOUBLE_SUFFIXES: [Rule; 20] = [
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"),
    ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("fulli", "ful"),
];

#[rustfmt::skip]
const ADJECTIVE_SUFFIXES: [Rule; 7] = [
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
];

const SUFFIXES: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
];

/// Step 1a. `caresses`, `ponies`, `cats`.
fn plurals(word: &str) -> Option<String> {
    if let Some(stem) = word.strip_suffix("ies") {
        return Some(format!("{stem}{}", if length(word) == 4 { "ie" } else { "i" }));
    }
    if word.ends_with("sses") {
        return word.strip_suffix("es").map(str::to_owned);
    }
    if word.ends_with("ss") {
        return None;
    }
    word.strip_suffix('s').map(str::to_owned)
}

/// Step 1b. `agreed`, `plastered`, `motoring`.
fn past_and_gerund(word: &str) -> Option<String> {
    if let Some(stem) = word.strip_suffix("ied") {
        return Some(format!("{stem}{}", if length(word) == 4 { "ie" } else { "i" }));
    }
    if let Some(stem) = word.strip_suffix("eed") {
        return (measure(stem) > 0).then(|| format!("{stem}ee"));
    }
    let stem = word.strip_suffix("ed").or_else(|| word.strip_suffix("ing"))?;
    if consonants(stem).iter().all(|consonant| *consonant) {
        return None;
    }
    if stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz") {
        return Some(format!("{stem}e"));
    }
    if ends_in_double_consonant(stem) {
        let mut stem = stem.to_owned();
        if !stem.ends_with(['l', 's', 'z']) {
            stem.pop();
        }
        return Some(stem);
    }
    let needs_e = measure(stem) == 1 && ends_in_short_syllable(stem);
    Some(format!("{stem}{}", if needs_e { "e" } else { "" }))
}

/// Step 1c. `happy`, but not `enjoy` nor `by`.
fn final_y(word: &str) -> Option<String> {
    let stem = word.strip_suffix('y')?;
    let consonants = consonants(stem);
    (consonants.len() > 1 && consonants.last() == Some(&true)).then(|| format!("{stem}i"))
}

/// Step 2. `relational`, `digitizer`, `decisiveness`.
fn double_suffixes(word: &str) -> Option<String> {
    if let Some(stem) = word.strip_suffix("alli") {
        return (measure(stem) > 0).then(|| step(format!("{stem}al"), double_suffixes));
    }
    if word.ends_with("logi") {
        let stem = word.strip_suffix("ogi")?;
        return (measure(stem) > 0).then(|| format!("{stem}og"));
    }
    replace(word, &DOUBLE_SUFFIXES)
}

/// Step 3. `triplicate`, `electrical`, `goodness`.
fn adjective_suffixes(word: &str) -> Option<String> {
    replace(word, &ADJECTIVE_SUFFIXES)
}

fn replace(word: &str, rules: &[Rule]) -> Option<String> {
    let (stem, end) = rules.iter().find_map(|(suffix, end)| Some((word.strip_suffix(suffix)?, end)))?;
    (measure(stem) > 0).then(|| format!("{stem}{end}"))
}

/// Step 4. `revival`, `adjustment`, `adoption`.
fn suffixes(word: &str) -> Option<String> {
    let (stem, suffix) = SUFFIXES.iter().find_map(|suffix| Some((word.strip_suffix(suffix)?, *suffix)))?;
    let applies = measure(stem) > 1 && (suffix != "ion" || stem.ends_with(['s', 't']));
    applies.then(|| stem.to_owned())
}

/// Step 5a. `probate`, `cease`.
fn final_e(word: &str) -> Option<String> {
    let stem = word.strip_suffix('e')?;
    let measure = measure(stem);
    (measure > 1 || (measure == 1 && !ends_in_short_syllable(stem))).then(|| stem.to_owned())
}

/// Step 5b. `controll`.
fn double_l(word: &str) -> Option<String> {
    let stem = word.strip_suffix('l').filter(|stem| stem.ends_with('l'))?;
    (measure(stem) > 1).then(|| stem.to_owned())
}

/// For each character whether it counts as a consonant: all but the vowels and a `y` after a consonant.
fn consonants(text: &str) -> Vec<bool> {
    let mut found = Vec::with_capacity(text.len());
    for character in text.chars() {
        let before = found.last().copied().unwrap_or(false);
        found.push(match character {
            'a' | 'e' | 'i' | 'o' | 'u' => false,
            'y' => !before,
            _ => true,
        });
    }
    found
}

/// How often a vowel is followed by a consonant.
fn measure(text: &str) -> usize {
    consonants(text).windows(2).filter(|pair| !pair[0] && pair[1]).count()
}

fn ends_in_double_consonant(text: &str) -> bool {
    let mut backwards = text.chars().rev();
    let (last, before) = (backwards.next(), backwards.next());
    last.is_some() && last == before && consonants(text).last() == Some(&true)
}

/// Consonant, vowel, consonant other than `w`, `x` and `y`; or a word that is a vowel and a consonant.
fn ends_in_short_syllable(text: &str) -> bool {
    match consonants(text)[..] {
        [.., true, false, true] => !text.ends_with(['w', 'x', 'y']),
        [false, true] => true,
        _ => false,
    }
}

fn length(word: &str) -> usize {
    word.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words whose stem NLTK 3.10.4 was asked for, at least one for each rule; the oracle's test asks for more.
    #[rustfmt::skip]
    const STEMS: &[(&str, &str)] = &[
        ("by", "by"), ("Is", "is"), ("dies", "die"), ("flies", "fli"), ("caresses", "caress"),
        ("ponies", "poni"), ("caress", "caress"), ("cats", "cat"), ("ied", "i"), ("died", "die"),
        ("spied", "spi"), ("feed", "feed"), ("agreed", "agre"), ("plastered", "plaster"), ("bled", "bled"),
        ("motoring", "motor"), ("sing", "sing"), ("conflated", "conflat"), ("troubled", "troubl"),
        ("sizing", "size"), ("hopping", "hop"), ("falling", "fall"), ("hissing", "hiss"), ("fizzed", "fizz"),
        ("failing", "fail"), ("filing", "file"), ("happy", "happi"), ("enjoy", "enjoy"), ("sky", "sky"),
        ("skies", "sky"), ("spy", "spi"), ("relational", "relat"), ("conditional", "condit"),
        ("rational", "ration"), ("valency", "valenc"), ("hesitancy", "hesit"), ("digitizer", "digit"),
        ("conformably", "conform"), ("radically", "radic"), ("differently", "differ"), ("vilely", "vile"),
        ("analogously", "analog"), ("vietnamization", "vietnam"), ("predication", "predic"),
        ("operator", "oper"), ("feudalism", "feudal"), ("decisiveness", "decis"), ("hopefulness", "hope"),
        ("callousness", "callous"), ("formality", "formal"), ("sensitivity", "sensit"),
        ("sensibility", "sensibl"), ("hopefully", "hope"), ("geology", "geolog"), ("theology", "theolog"),
        ("logy", "logi"), ("ally", "alli"), ("generally", "gener"), ("triplicate", "triplic"),
        ("formative", "form"), ("formalize", "formal"), ("electricity", "electr"), ("electrical", "electr"),
        ("hopeful", "hope"), ("goodness", "good"), ("revival", "reviv"), ("allowance", "allow"),
        ("inference", "infer"), ("airliner", "airlin"), ("gyroscopic", "gyroscop"), ("adjustable", "adjust"),
        ("defensible", "defens"), ("irritant", "irrit"), ("replacement", "replac"), ("adjustment", "adjust"),
        ("dependent", "depend"), ("adoption", "adopt"), ("opinion", "opinion"), ("homologous", "homolog"),
        ("communism", "commun"), ("activate", "activ"), ("angularity", "angular"), ("effective", "effect"),
        ("bowdlerize", "bowdler"), ("probate", "probat"), ("rate", "rate"), ("cease", "ceas"),
        ("controlling", "control"), ("roll", "roll"), ("syzygy", "syzygi"), ("yyyy", "yyyi"), ("toying", "toy"),
        ("2000s", "2000"), ("covid19", "covid19"), ("innings", "inning"), ("Howe", "howe"), ("eying", "eye"),
        ("using", "use"), ("aging", "age"),
    ];

    #[test]
    fn stems_are_those_of_nltk() {
        for (word, stem) in STEMS {
            assert_eq!(porter_stem(word), *stem, "{word}");
        }
    }
}
