//! Which wire format is spoken, and where.

use rehearsal_core::{ModelRequest, ModelResponse};
use reqwest::Url;
use serde::Serialize;

use crate::Api;
use crate::wire::{Delta, WireError, anthropic, gemini, openai};

/// A wire format as it is used over HTTP.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Protocol {
    OpenAi(openai::Dialect),
    Anthropic,
    Gemini,
}

/// How the answer is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Stream,
}

/// The body of a request and a header that belongs to it.
type Written = (Vec<u8>, Option<(&'static str, &'static str)>);

impl Protocol {
    pub(crate) fn of(api: Api, base_url: &str) -> Self {
        match api {
            Api::Anthropic => Self::Anthropic,
            Api::Gemini => Self::Gemini,
            Api::OpenAi | Api::OpenAiCompatible => {
                let host = Url::parse(base_url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
                Self::OpenAi(match host.as_deref() {
                    Some("api.openai.com") => openai::Dialect::OpenAi,
                    _ => openai::Dialect::Compatible,
                })
            }
        }
    }

    pub(crate) fn url(self, base: &str, model: &str, form: Form) -> Result<Url, String> {
        let address = match (self, form) {
            (Self::OpenAi(_), _) => format!("{base}/chat/completions"),
            (Self::Anthropic, _) => format!("{base}/v1/messages"),
            (Self::Gemini, form) => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
                if !model.chars().all(is_plain) || model.contains("..") {
                    return Err(format!("`{model}` cannot be the name of a Gemini model"));
                }
                // A name with a slash says itself which collection it is in.
                let path = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
                match form {
                    Form::Whole => format!("{base}/{path}:generateContent"),
                    Form::Stream => format!("{base}/{path}:streamGenerateContent?alt=sse"),
                }
            }
        };
        Url::parse(&address).map_err(|error| format!("the address cannot be read: {error}"))
    }

    /// The request, and the header that belongs to it if one does.
    pub(crate) fn write(self, request: &ModelRequest, model: &str, form: Form) -> Result<Written, WireError> {
        let is_stream = form == Form::Stream;
        match self {
            Self::OpenAi(dialect) => {
                let mut written = openai::Request::from_core(request, dialect)?;
                model.clone_into(&mut written.model);
                Ok((bytes(&if is_stream { written.streaming() } else { written })?, None))
            }
            Self::Anthropic => {
                let mut written = anthropic::Request::from_core(request)?;
                model.clone_into(&mut written.model);
                let version = ("anthropic-version", written.version());
                Ok((bytes(&if is_stream { written.streaming() } else { written })?, Some(version)))
            }
            Self::Gemini => Ok((bytes(&gemini::Request::from_core(request)?)?, None)),
        }
    }

    pub(crate) fn read(self, text: &str) -> Result<ModelResponse, WireError> {
        match self {
            Self::OpenAi(_) => openai::read(text),
            Self::Anthropic => anthropic::Response::parse(text)?.to_core(),
            Self::Gemini => gemini::Response::parse(text)?.to_core(),
        }
    }

    pub(crate) fn read_error(self, status: u16, body: &str) -> WireError {
        match self {
            Self::OpenAi(_) => openai::read_error(status, body),
            Self::Anthropic => anthropic::read_error(status, body),
            Self::Gemini => gemini::read_error(status, body),
        }
    }

    pub(crate) fn assembler(self) -> Assembler {
        match self {
            Self::OpenAi(_) => Assembler::OpenAi(Box::default()),
            Self::Anthropic => Assembler::Anthropic(Box::default()),
            Self::Gemini => Assembler::Gemini(Box::default()),
        }
    }
}

fn bytes(request: &impl Serialize) -> Result<Vec<u8>, WireError> {
    rehearsal_core::json::to_vec(request)
        .map_err(|error| WireError::unsupported(format!("it cannot be written as JSON: {error}")))
}

/// Puts a stream together, whichever format it is in.
#[derive(Debug)]
pub(crate) enum Assembler {
    OpenAi(Box<openai::Assembler>),
    Anthropic(Box<anthropic::Assembler>),
    Gemini(Box<gemini::Assembler>),
}

impl Assembler {
    pub(crate) fn push(&mut self, data: &str) -> Result<Vec<Delta>, WireError> {
        match self {
            Self::OpenAi(assembler) => assembler.push(data),
            Self::Anthropic(assembler) => assembler.push(data),
            Self::Gemini(assembler) => assembler.push(data),
        }
    }

    /// Whether nothing can follow. Gemini's stream ends with the connection: what the answer cost may come last.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::OpenAi(assembler) => assembler.is_done(),
            Self::Anthropic(assembler) => assembler.is_done(),
            Self::Gemini(_) => false,
        }
    }

    pub(crate) fn finish(self) -> Result<ModelResponse, WireError> {
        match self {
            Self::OpenAi(assembler) => assembler.finish()?.to_core(),
            Self::Anthropic(assembler) => assembler.finish()?.to_core(),
            Self::Gemini(assembler) => assembler.finish()?.to_core(),
        }
    }
}
