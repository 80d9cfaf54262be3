//! Keys: read from the environment, sent to the provider, shown to nobody.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rehearsal_core::ModelResponse;
use rehearsal_core::mask::Masker;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::{Api, Environment};

/// What stands where a key was.
const REMOVED: &str = "[key removed]";

/// Shorter keys are not looked for in answers: servers without keys are given words like `none`, which answers
/// may well contain.
const SHORTEST_REAL_KEY: usize = 12;

/// A provider's key.
#[derive(Clone)]
pub(crate) struct Key {
    secret: SecretString,
    header: HeaderName,
    value: HeaderValue,
    /// Hides it in answers, however a server spells it.
    masker: Masker,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key([hidden])")
    }
}

impl Key {
    /// The key that the environment holds for an API.
    pub(crate) fn find(api: Api, environment: Environment<'_>) -> Result<Option<Self>, String> {
        for variable in api.key_variables() {
            let secret = SecretString::from(environment(variable).unwrap_or_default().trim().to_owned());
            if !secret.expose_secret().is_empty() {
                return Self::new(api, secret, variable).map(Some);
            }
        }
        Ok(None)
    }

    /// Tells keys apart without being one. It is in nothing that is shown or kept.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.secret.expose_secret().hash(&mut hasher);
        hasher.finish()
    }

    fn new(api: Api, secret: SecretString, variable: &str) -> Result<Self, String> {
        let text = secret.expose_secret();
        let (header, value) = match api {
            Api::OpenAi | Api::OpenAiCompatible => {
                ("authorization", HeaderValue::try_from(format!("Bearer {text}")))
            }
            // Newer SDKs send it as a bearer token. The API takes both, and so do fewer of the servers that
            // stand in for it.
            Api::Anthropic => ("x-api-key", HeaderValue::try_from(text)),
            Api::Gemini => ("x-goog-api-key", HeaderValue::try_from(text)),
        };
        let mut value = value
            .map_err(|_| format!("the key in {variable} holds characters that cannot be part of a key"))?;
        value.set_sensitive(true);
        let real = Some(text.to_owned()).filter(|text| text.len() >= SHORTEST_REAL_KEY);
        let masker = Masker::saying(REMOVED, real);
        Ok(Self { secret, header: HeaderName::from_static(header), value, masker })
    }

    /// The header that carries it.
    pub(crate) fn header(&self) -> (HeaderName, HeaderValue) {
        (self.header.clone(), self.value.clone())
    }

    /// The text of an error without the key.
    pub(crate) fn remove_from_error(&self, text: &str) -> String {
        // A short one cannot be told from other words, and in an error that does no harm.
        self.masker.mask(text).replace(self.secret.expose_secret(), REMOVED)
    }

    /// An answer without the key: what a server echoes must not reach a ledger.
    pub(crate) fn remove_from_answer(&self, mut text: String) -> String {
        self.masker.mask_text(&mut text);
        text
    }

    /// The same for an answer that was put together from pieces, each of which may have held a part of the key.
    pub(crate) fn remove_from_response(&self, response: &mut ModelResponse) {
        self.masker.mask_response(response);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Key {
        let text = text.to_owned();
        Key::find(Api::Anthropic, &move |_| Some(text.clone())).unwrap().unwrap()
    }

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = key("sk-ant-0123456789");
        assert!(!format!("{key:?} {:?}", key.header()).contains("0123456789"));
        assert_eq!(key.remove_from_error("bad key sk-ant-0123456789!"), "bad key [key removed]!");
        assert_eq!(key.remove_from_answer("it is sk-ant-0123456789".into()), "it is [key removed]");
    }

    #[test]
    fn a_key_is_found_in_every_place_of_an_answer() {
        let key = key("sk-ant-0123456789");
        let text = r#"{"a": ["\u0073k-ant-0123456789", "b", "\u0073k-ant-0123456789"]}"#;
        let removed = key.remove_from_answer(text.into());
        assert_eq!(removed, r#"{"a": ["[key removed]", "b", "[key removed]"]}"#);
        let innocent = r#"{"a": "\u00e4"}"#;
        assert_eq!(key.remove_from_answer(innocent.into()), innocent);
    }

    #[test]
    fn placeholders_for_keys_do_not_eat_answers() {
        assert_eq!(key("none").remove_from_answer("none of it".into()), "none of it");
        assert_eq!(key("none").remove_from_error("key none"), "key [key removed]");
    }

    #[test]
    fn keys_are_trimmed_and_empty_ones_count_as_missing() {
        assert_eq!(key(" sk-ant-1 \n").header().1.to_str().unwrap(), "sk-ant-1");
        assert!(Key::find(Api::OpenAi, &|_| Some("  ".into())).unwrap().is_none());
        assert!(Key::find(Api::OpenAi, &|_| Some("a\nb".into())).unwrap_err().contains("OPENAI_API_KEY"));
        let google = |name: &str| (name == "GOOGLE_API_KEY").then(|| "g".to_owned());
        assert!(Key::find(Api::Gemini, &google).unwrap().is_some());
    }
}
