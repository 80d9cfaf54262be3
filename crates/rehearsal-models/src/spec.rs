//! Which model is meant, as people write it.

use std::fmt;
use std::str::FromStr;

use rehearsal_core::edit_distance;
use reqwest::Url;
use serde::{Deserialize, Serialize};

use crate::Environment;

/// The environment variable with the address of the compatible server that may be sent the key.
const KEY_ADDRESS_VARIABLE: &str = "OPENAI_COMPATIBLE_BASE_URL";

/// A model by its API and name.
///
/// | written | meant |
/// |---|---|
/// | `openai:gpt-4o` | a model of OpenAI |
/// | `anthropic:claude-sonnet-4-5` | a model of Anthropic |
/// | `gemini:gemini-2.5-flash` | a model of Google |
/// | `openai-compatible:qwen2.5:7b@http://127.0.0.1:8080/v1` | a model of any server that is compatible with OpenAI's chat completions, at the address up to and without `/chat/completions` |
///
/// Only the last form has an address. Those of the other three can be changed in the environment (see
/// [`Api::base_url_variable`]), where no file that somebody sends you can make a key go somewhere else. For the
/// same reason a compatible server is sent the key in `OPENAI_COMPATIBLE_API_KEY` only if the environment variable
/// `OPENAI_COMPATIBLE_BASE_URL` holds an address with the same scheme, host and port; other servers get none.
///
/// ```
/// use rehearsal_models::{Api, ModelSpec};
///
/// let spec: ModelSpec = "openai-compatible:qwen2.5:7b@http://127.0.0.1:8080/v1".parse()?;
/// assert_eq!(spec.api(), Api::OpenAiCompatible);
/// assert_eq!(spec.model(), "qwen2.5:7b");
/// assert_eq!(spec.base_url(), Some("http://127.0.0.1:8080/v1"));
///
/// let error = "opnai:gpt-4o".parse::<ModelSpec>().unwrap_err();
/// assert!(error.to_string().starts_with("`opnai` is no API that is known; did you mean `openai`?"));
/// # Ok::<(), rehearsal_models::ParseSpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelSpec {
    api: Api,
    model: String,
    base_url: Option<String>,
}

/// An API that models are called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Api {
    /// OpenAI's chat completions.
    OpenAi,
    /// Chat completions of another server.
    OpenAiCompatible,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's generate content.
    Gemini,
}

impl Api {
    const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiCompatible, Self::Anthropic, Self::Gemini];

    /// The word for it in a [`ModelSpec`].
    pub fn word(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// The environment variables that may hold the key, the first that is set counts.
    pub fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_API_KEY"],
            // Its own variable: an address in a scenario must not be sent the key for OpenAI. Nor is this one sent
            // to any address that a scenario names; see `ModelSpec::may_be_sent_key`.
            Self::OpenAiCompatible => &["OPENAI_COMPATIBLE_API_KEY"],
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        }
    }

    /// The environment variable that changes the address, as the provider's own SDK names it.
    pub fn base_url_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_BASE_URL"),
            Self::OpenAiCompatible => None,
            Self::Anthropic => Some("ANTHROPIC_BASE_URL"),
            Self::Gemini => Some("GOOGLE_GEMINI_BASE_URL"),
        }
    }

    pub(crate) fn default_base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::OpenAiCompatible => "",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

impl ModelSpec {
    /// The API.
    pub fn api(&self) -> Api {
        self.api
    }

    /// The model's name as its provider knows it.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The address, for a compatible server.
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Whether the key in the environment is meant for the address: one that the spec names must be named in the
    /// environment too, or a scenario could have the key sent anywhere.
    pub(crate) fn may_be_sent_key(&self, environment: Environment<'_>) -> bool {
        let Some(url) = &self.base_url else { return true };
        let named = environment(KEY_ADDRESS_VARIABLE).unwrap_or_default();
        match (Url::parse(url), Url::parse(named.trim())) {
            (Ok(url), Ok(named)) => url.origin() == named.origin(),
            _ => false,
        }
    }

    /// What to set in the environment for a key to be sent.
    pub(crate) fn key_hint(&self) -> String {
        let variables = self.api.key_variables().join(" or ");
        match self.base_url {
            Some(_) => {
                format!("{variables}, and {KEY_ADDRESS_VARIABLE} to the address that it may be sent to")
            }
            None => variables,
        }
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.api.word(), self.model)?;
        match &self.base_url {
            Some(url) => write!(f, "@{url}"),
            None => Ok(()),
        }
    }
}

impl From<ModelSpec> for String {
    fn from(spec: ModelSpec) -> Self {
        spec.to_string()
    }
}

impl TryFrom<String> for ModelSpec {
    type Error = ParseSpecError;

    fn try_from(text: String) -> Result<Self, ParseSpecError> {
        text.parse()
    }
}

impl FromStr for ModelSpec {
    type Err = ParseSpecError;

    fn from_str(text: &str) -> Result<Self, ParseSpecError> {
        let text = text.trim();
        let Some((word, rest)) = text.split_once(':') else {
            return Err(ParseSpecError::NoApi { text: text.to_owned(), guess: guess_api(text) });
        };
        let Some(api) = Api::ALL.into_iter().find(|api| api.word() == word) else {
            return Err(ParseSpecError::UnknownApi { word: word.to_owned(), nearest: nearest_api(word) });
        };
        // The name may hold an `@` itself, so the address begins at the last one that an address follows.
        let at = ["@http://", "@https://"].iter().filter_map(|mark| rest.rfind(mark)).max();
        let (model, url) = match at {
            Some(at) => (&rest[..at], Some(&rest[at + 1..])),
            None => (rest, None),
        };
        if model.is_empty() || model.contains(char::is_whitespace) {
            return Err(ParseSpecError::NoModel { api: api.word() });
        }
        let base_url = match (api, url) {
            (Api::OpenAiCompatible, Some(url)) => Some(check_base_url(url)?),
            (Api::OpenAiCompatible, None) => {
                return Err(ParseSpecError::NoAddress { model: model.to_owned() });
            }
            (_, None) => None,
            (_, Some(_)) => {
                let variable = api.base_url_variable().unwrap_or_default();
                return Err(ParseSpecError::AddressNotAllowed { api: api.word(), variable });
            }
        };
        Ok(Self { api, model: model.to_owned(), base_url })
    }
}

/// Why a text does not name a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseSpecError {
    /// It does not say whose model it is.
    #[error("`{text}` does not say whose model it is{}", suggest(guess.map(|api| format!("{api}:{text}"))))]
    NoApi {
        /// The text.
        text: String,
        /// What it may be meant to say.
        guess: Option<&'static str>,
    },
    /// The API is not known.
    #[error("`{word}` is no API that is known{}", suggest(*nearest))]
    UnknownApi {
        /// The word.
        word: String,
        /// What it may be meant to say.
        nearest: Option<&'static str>,
    },
    /// The model's name is missing.
    #[error("the name of the model is missing after `{api}:`, or has a space in it")]
    NoModel {
        /// The API.
        api: &'static str,
    },
    /// The address is missing.
    #[error("a compatible server needs its address")]
    NoAddress {
        /// The model.
        model: String,
    },
    /// The address cannot be given here.
    #[error("`{api}` models take no address here, so that no file can send your key somewhere else")]
    AddressNotAllowed {
        /// The API.
        api: &'static str,
        /// The variable to set.
        variable: &'static str,
    },
    /// The address cannot be used.
    #[error("the address of the server {why}")]
    Address {
        /// Why.
        why: String,
    },
}

impl ParseSpecError {
    /// What would be right.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoApi { .. } | Self::UnknownApi { .. } | Self::NoModel { .. } => Some(FORMS.to_owned()),
            Self::NoAddress { model } => {
                Some(format!("write `openai-compatible:{model}@http://127.0.0.1:8080/v1`"))
            }
            Self::AddressNotAllowed { variable, .. } => {
                Some(format!("set the environment variable {variable}, or write `openai-compatible:…`"))
            }
            Self::Address { .. } => None,
        }
    }
}

const FORMS: &str = "a model is written `openai:MODEL`, `anthropic:MODEL`, `gemini:MODEL` or `openai-compatible:MODEL@ADDRESS`";

fn suggest(word: Option<impl fmt::Display>) -> String {
    word.map(|word| format!("; did you mean `{word}`?")).unwrap_or_default()
}

/// An address that can be used and shown: HTTP, and without anything that could be a secret.
pub(crate) fn check_base_url(text: &str) -> Result<String, ParseSpecError> {
    let wrong = |why: &str| ParseSpecError::Address { why: why.to_owned() };
    let url = Url::parse(text).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("must begin with http:// or https:// and name a host"));
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.query().is_some()
        || url.fragment().is_some()
    {
        return Err(wrong(
            "must not hold a user, a password or anything after `?` or `#`; keys come from the environment",
        ));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn guess_api(model: &str) -> Option<&'static str> {
    let families = [
        ("gpt", "openai"),
        ("o1", "openai"),
        ("o3", "openai"),
        ("o4", "openai"),
        ("chatgpt", "openai"),
        ("claude", "anthropic"),
        ("gemini", "gemini"),
        ("gemma", "gemini"),
    ];
    families.iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, api)| *api)
}

fn nearest_api(word: &str) -> Option<&'static str> {
    let other_names = [
        ("google", Api::Gemini),
        ("vertex", Api::Gemini),
        ("claude", Api::Anthropic),
        ("gpt", Api::OpenAi),
        ("ollama", Api::OpenAiCompatible),
        ("vllm", Api::OpenAiCompatible),
        ("llamacpp", Api::OpenAiCompatible),
        ("local", Api::OpenAiCompatible),
        ("lmstudio", Api::OpenAiCompatible),
    ];
    let word = word.to_lowercase();
    if let Some((_, api)) = other_names.iter().find(|(name, _)| *name == word) {
        return Some(api.word());
    }
    let distances = Api::ALL.iter().map(|api| (edit_distance(&word, api.word()), api.word()));
    distances.min().filter(|(distance, known)| *distance * 2 < known.len()).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<(Api, &str, Option<&str>), &str>) {
        match (text.parse::<ModelSpec>(), expected) {
            (Ok(spec), Ok((api, model, url))) => {
                assert_eq!((spec.api(), spec.model(), spec.base_url()), (api, model, url), "{text}");
                let again: ModelSpec = spec.to_string().parse().unwrap();
                assert_eq!(again, spec);
                let json = rehearsal_core::json::to_string(&spec).unwrap();
                assert_eq!(rehearsal_core::json::from_str::<ModelSpec>(&json).unwrap(), spec);
            }
            (Err(error), Err(part)) => {
                let told = format!("{error}; {}", error.hint().unwrap_or_default());
                assert!(told.contains(part), "{text}: {told}");
            }
            (got, _) => panic!("{text}: {got:?}"),
        }
    }

    #[test]
    fn the_known_forms_are_read_and_written() {
        check("openai:gpt-4o", Ok((Api::OpenAi, "gpt-4o", None)));
        check(" anthropic:claude-sonnet-4-5 ", Ok((Api::Anthropic, "claude-sonnet-4-5", None)));
        check("gemini:gemini-2.5-flash", Ok((Api::Gemini, "gemini-2.5-flash", None)));
        let compatible = |model, url| Ok((Api::OpenAiCompatible, model, Some(url)));
        check(
            "openai-compatible:qwen2.5:7b@http://127.0.0.1:80/v1/",
            compatible("qwen2.5:7b", "http://127.0.0.1/v1"),
        );
        check(
            "openai-compatible:a/b@c@https://example.com/v1",
            compatible("a/b@c", "https://example.com/v1"),
        );
    }

    #[test]
    fn errors_say_what_to_write() {
        check("gpt-4o", Err("did you mean `openai:gpt-4o`?"));
        check("mistral", Err("`mistral` does not say whose model it is; a model is written"));
        check("opnai:gpt-4o", Err("did you mean `openai`?"));
        check("google:gemini-2.5-pro", Err("did you mean `gemini`?"));
        check("ollama:qwen", Err("did you mean `openai-compatible`?"));
        check("zzz:x", Err("`zzz` is no API that is known; a model is written"));
        check("openai:", Err("name of the model is missing"));
        check("openai-compatible:qwen", Err("openai-compatible:qwen@http://127.0.0.1:8080/v1"));
        check("anthropic:claude@https://example.com", Err("ANTHROPIC_BASE_URL"));
        check("openai-compatible:m@http://", Err("cannot be read"));
    }

    #[test]
    fn an_address_with_a_secret_is_refused_and_not_repeated() {
        for text in [
            "openai-compatible:m@http://me:hunter2@localhost/v1",
            "openai-compatible:m@http://localhost/?key=hunter2",
        ] {
            let error = text.parse::<ModelSpec>().unwrap_err().to_string();
            assert!(error.contains("must not hold") && !error.contains("hunter2"), "{error}");
        }
    }
}
