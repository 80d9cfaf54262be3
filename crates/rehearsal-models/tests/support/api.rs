//! The three wire formats behind one interface, so that a test is written once for all of them.

use eventsource_stream::Eventsource;
use futures::StreamExt;
use futures::executor::block_on;
use rehearsal_core::{ModelRequest, ModelResponse};
use rehearsal_models::wire::{Delta, Envelope, SseEvent, WireError, anthropic, gemini, openai};
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    OpenAi,
    Anthropic,
    Gemini,
}

pub(crate) const ALL: [Api; 3] = [Api::OpenAi, Api::Anthropic, Api::Gemini];

impl Api {
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    /// Reads a request and writes it again.
    pub(crate) fn rewrite_request(self, text: &str) -> Result<Value, WireError> {
        Ok(match self {
            Self::OpenAi => serde_json::to_value(openai::Request::parse(text)?).unwrap(),
            Self::Anthropic => serde_json::to_value(anthropic::Request::parse(text)?).unwrap(),
            Self::Gemini => serde_json::to_value(gemini::Request::parse(text)?).unwrap(),
        })
    }

    pub(crate) fn read_request(self, text: &str, model: &str) -> Result<ModelRequest, WireError> {
        match self {
            Self::OpenAi => openai::Request::parse(text)?.to_core(),
            Self::Anthropic => anthropic::Request::parse(text)?.to_core(),
            Self::Gemini => gemini::Request::parse(text)?.to_core(model),
        }
    }

    pub(crate) fn write_request(self, request: &ModelRequest) -> Result<Value, WireError> {
        Ok(match self {
            Self::OpenAi => {
                serde_json::to_value(openai::Request::from_core(request, openai::Dialect::Compatible)?)
                    .unwrap()
            }
            Self::Anthropic => serde_json::to_value(anthropic::Request::from_core(request)?).unwrap(),
            Self::Gemini => serde_json::to_value(gemini::Request::from_core(request)?).unwrap(),
        })
    }

    /// Reads a response and writes it again.
    pub(crate) fn rewrite_response(self, text: &str) -> Result<Value, WireError> {
        Ok(match self {
            Self::OpenAi => serde_json::to_value(openai::Response::parse(text)?).unwrap(),
            Self::Anthropic => serde_json::to_value(anthropic::Response::parse(text)?).unwrap(),
            Self::Gemini => serde_json::to_value(gemini::Response::parse(text)?).unwrap(),
        })
    }

    pub(crate) fn read_response(self, text: &str) -> Result<ModelResponse, WireError> {
        match self {
            Self::OpenAi => openai::Response::parse(text)?.to_core(),
            Self::Anthropic => anthropic::Response::parse(text)?.to_core(),
            Self::Gemini => gemini::Response::parse(text)?.to_core(),
        }
    }

    pub(crate) fn write_response(
        self,
        response: &ModelResponse,
        envelope: &Envelope,
    ) -> Result<Value, WireError> {
        Ok(match self {
            Self::OpenAi => serde_json::to_value(openai::Response::from_core(response, envelope)?).unwrap(),
            Self::Anthropic => {
                serde_json::to_value(anthropic::Response::from_core(response, envelope)?).unwrap()
            }
            Self::Gemini => serde_json::to_value(gemini::Response::from_core(response, envelope)?).unwrap(),
        })
    }

    /// The events in which a response is streamed.
    pub(crate) fn events(self, response: &str) -> Result<Vec<SseEvent>, WireError> {
        Ok(match self {
            Self::OpenAi => openai::Response::parse(response)?.to_events(openai::UsageInStream::Included),
            Self::Anthropic => anthropic::Response::parse(response)?.to_events(),
            Self::Gemini => gemini::Response::parse(response)?.to_events(),
        })
    }

    /// Reads a stream that arrives in these pieces; gives the response as JSON, as the core sees it, and what was
    /// shown on the way.
    pub(crate) fn assemble(self, pieces: &[&[u8]]) -> Result<Assembled, WireError> {
        let pieces: Vec<Result<Vec<u8>, std::convert::Infallible>> =
            pieces.iter().map(|piece| Ok(piece.to_vec())).collect();
        let events: Vec<_> = block_on(futures::stream::iter(pieces).eventsource().collect());
        let events: Result<Vec<String>, _> =
            events.into_iter().map(|event| event.map(|event| event.data)).collect();
        let events = events.map_err(|error| WireError::Malformed { why: error.to_string() })?;
        let mut shown = Vec::new();
        Ok(match self {
            Self::OpenAi => {
                let mut assembler = openai::Assembler::default();
                for event in &events {
                    shown.extend(assembler.push(event)?);
                }
                let response = assembler.finish()?;
                Assembled { core: response.to_core()?, json: serde_json::to_value(&response).unwrap(), shown }
            }
            Self::Anthropic => {
                let mut assembler = anthropic::Assembler::default();
                for event in &events {
                    shown.extend(assembler.push(event)?);
                }
                let response = assembler.finish()?;
                Assembled { core: response.to_core()?, json: serde_json::to_value(&response).unwrap(), shown }
            }
            Self::Gemini => {
                let mut assembler = gemini::Assembler::default();
                for event in &events {
                    shown.extend(assembler.push(event)?);
                }
                let response = assembler.finish()?;
                Assembled { core: response.to_core()?, json: serde_json::to_value(&response).unwrap(), shown }
            }
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assembled {
    pub(crate) json: Value,
    pub(crate) core: ModelResponse,
    pub(crate) shown: Vec<Delta>,
}

impl Assembled {
    /// The text that was shown on the way, and the thoughts.
    pub(crate) fn shown_text(&self) -> (String, String) {
        let (mut text, mut thoughts) = (String::new(), String::new());
        for delta in &self.shown {
            match delta {
                Delta::Text(more) => text.push_str(more),
                Delta::Thought(more) => thoughts.push_str(more),
                _ => unreachable!("there are two kinds"),
            }
        }
        (text, thoughts)
    }

    /// The text of the whole response, and the thoughts, each in one.
    pub(crate) fn whole_text(&self) -> (String, String) {
        let (mut text, mut thoughts) = (String::new(), String::new());
        for part in &self.core.content.parts {
            // A refusal is not text that the model says; it is not shown as such.
            if part.extra.get("openai").is_some_and(|said| said.get("refusal").is_some()) {
                continue;
            }
            let into = if part.thought { &mut thoughts } else { &mut text };
            into.push_str(part.as_text().unwrap_or_default());
        }
        (text, thoughts)
    }
}
