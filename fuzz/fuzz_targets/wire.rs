//! What is read in a provider's format is written back the same, and converting it never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rehearsal_models::wire::{anthropic, gemini, openai};

macro_rules! keeps {
    ($type:ty, $text:expr, |$read:ident| $convert:expr) => {
        if let Ok($read) = <$type>::parse($text) {
            let written = serde_json::to_string(&$read).expect("what was read can be written");
            let again = <$type>::parse(&written).expect("what was written can be read");
            assert_eq!(serde_json::to_string(&again).expect("as before"), written);
            $convert.ok();
        }
    };
}

fuzz_target!(|text: &str| {
    keeps!(openai::Request, text, |read| read.to_core());
    keeps!(openai::Response, text, |read| read.to_core());
    keeps!(anthropic::Request, text, |read| read.to_core());
    keeps!(anthropic::Response, text, |read| read.to_core());
    keeps!(gemini::Request, text, |read| read.to_core("gemini"));
    keeps!(gemini::Response, text, |read| read.to_core());
});
