//! Facts about ADK's tokenizer for text that is not plain English.
//!
//! Measured with google-adk 2.13.0 (`evaluation/final_response_match_v1.py`), rouge-score 0.1.2, nltk 3.10.4 and
//! Python 3.11: each text was given to its tokenizer and each pair to its scorer, and this is what came back.

use rehearsal_metrics::{Rouge, rouge_tokens, rouge1};

#[rustfmt::skip]
const TOKENS: &[(&str, &str)] = &[
    ("Café naïve Straße", "café|naïve|straße"),
    ("CAFÉ", "café"),
    ("cafe\u{301}", "café"),
    ("ﬁnally Ａｌｐｈａ１２", "final|alpha12"),
    ("東京タワー", "東|京|タ|ワ|ー"),
    ("東京 Tower", "東|京|tower"),
    ("お誕生日・おめでとう", "お|誕|生|日|・|お|め|で|と|う"),
    ("한국어 문장입니다", "한|국|어|문|장|입|니|다"),
    ("สว\u{e31}สด\u{e35}คร\u{e31}บ", "ส|ว\u{e31}|ส|ด\u{e35}|ค|ร\u{e31}|บ"),
    ("ก\u{e34}นข\u{e49}าว2จาน", "ก\u{e34}|น|ข\u{e49}|า|ว2|จ|า|น"),
    ("abcกdef", "abc|กdef"),
    ("ລາວ ພາສາ", "ລ|າ|ວ|ພ|າ|ສ|າ"),
    ("ភ\u{17b6}ស\u{17b6}ខ\u{17d2}ម\u{17c2}រ", "ភ\u{17b6}|ស\u{17b6}|ខ\u{17d2}|ម\u{17c2}|រ"),
    ("မ\u{103c}န\u{103a}မ\u{102c}စ\u{102c}", "မ\u{103c}|န\u{103a}|မ\u{102c}|စ\u{102c}"),
    ("नमस\u{94d}त\u{947} द\u{941}न\u{93f}य\u{93e}", "नमस\u{94d}त\u{947}|द\u{941}न\u{93f}य\u{93e}"),
    ("\u{645}\u{631}\u{62d}\u{628}\u{627}، \u{628}\u{627}\u{644}\u{639}\u{627}\u{644}\u{645}!", "\u{645}\u{631}\u{62d}\u{628}\u{627}|\u{628}\u{627}\u{644}\u{639}\u{627}\u{644}\u{645}"),
    ("Привет, мир", "привет|мир"),
    ("\u{5e9}\u{5b8}\u{5c1}\u{5dc}\u{5d5}\u{5b9}\u{5dd}", "\u{5e9}\u{5b8}\u{5c1}\u{5dc}\u{5d5}\u{5b9}\u{5dd}"),
    ("ΟΔΟΣ ὈΔΥΣΣΕΎΣ", "οδος|ὀδυσσεύς"),
    ("İstanbul", "i\u{307}stanbul"),
    ("½ cup x² ⅷ", "1|2|cup|x2|viii"),
    ("Ⓐ \u{1f150} \u{1f170} ①", "a|1"),
    ("snake_case it's don't", "snake|case|it|s|don|t"),
    ("e-mail: a@b.co", "e|mail|a|b|co"),
    ("\u{200b}zero\u{200d}width", "zero|width"),
    ("emoji \u{1f469}\u{200d}⚕\u{fe0f} ok", "emoji|\u{fe0f}|ok"),
    ("tab\u{9}and\u{a0}nbsp\u{3000}wide", "tab|and|nbsp|wide"),
    ("〇一二 ゝ ヽ ー ㍻ ㌔", "〇|一|二|ゝ|ヽ|ー|平|成|キ|ロ"),
    ("ｶﾞ ﾊﾟ", "ガ|パ"),
    ("ㄱㄴ ᄀ", "ᄀᄂ|ᄀ"),
    ("1,000.50 12:30", "1|000|50|12|30"),
    ("running_runner RUNNERS", "run|runner|runner"),
    ("", ""),
    ("!?…", ""),
    ("ß ẞ ſ", "ß|ß|s"),
    ("𝔘𝔫𝔦𝔠𝔬𝔡𝔢 running", "unicod|run"),
    ("२०२४ \u{662}\u{660}\u{662}\u{664}", "२०२४|\u{662}\u{660}\u{662}\u{664}"),
    ("Tiếng Việt", "tiếng|việt"),
    ("ı I ﬀ", "ı|i|ff"),
    ("dying skies naïvely-running", "die|sky|naïvely|run"),
    ("K Å Ω", "k|å|ω"),
    ("中abc文", "中|abc|文"),
    ("x\u{302}ŷ running\u{302}", "x\u{302}ŷ|runninĝ"),
];

#[rustfmt::skip]
#[expect(clippy::unreadable_literal, reason = "the digits are as Python printed them")]
const SCORES: &[(&str, &str, [f64; 3])] = &[
    ("สว\u{e31}สด\u{e35}คร\u{e31}บ", "สว\u{e31}สด\u{e35}ค\u{e48}ะ", [0.5714285714285714, 0.6666666666666666, 0.6153846153846153]),
    ("東京へ行く", "京都へ行く", [0.8, 0.8, 0.8000000000000002]),
    ("Le café était fermé", "Le cafe était ouvert", [0.5, 0.5, 0.5]),
    ("", "", [0.0, 0.0, 0.0]),
    ("!!", "!!", [0.0, 0.0, 0.0]),
    ("the the the cat", "the cat sat", [0.5, 0.6666666666666666, 0.5714285714285715]),
    ("Привет мир", "привет, МИР!", [1.0, 1.0, 1.0]),
    ("call 999 now", "Please call 999 immediately", [0.6666666666666666, 0.5, 0.5714285714285715]),
    ("실행", "실행 완료", [1.0, 0.5, 0.6666666666666666]),
];

#[test]
fn tokens_are_those_of_adk() {
    for (text, tokens) in TOKENS {
        assert_eq!(rouge_tokens(text).join("|"), *tokens, "{text:?}");
    }
}

#[test]
fn scores_are_those_of_adk() {
    for (candidate, reference, [precision, recall, f1]) in SCORES {
        let expected = Rouge { precision: *precision, recall: *recall, f1: *f1 };
        assert_eq!(rouge1(candidate, reference), expected, "{candidate:?} against {reference:?}");
    }
}
