//! Who can play the model: providers, script, recording.
//!
//! All of them are a [`Model`](rehearsal_agent::Model), so an agent cannot tell them apart:
//!
//! - [`Provider`]: a model of OpenAI, Anthropic, Google or any server compatible with OpenAI's. A [`ModelSpec`]
//!   says which, [`Providers`] connects to it, and [`wire`] knows the languages they speak.
//! - [`ScriptedModel`]: a list, a function, or rules on what is asked.
//! - [`Recording`]: what an earlier session's ledger holds.
//!
//! Start from a script; it needs no network and no key:
//!
//! ```
//! use rehearsal_agent::{Model, Metering, ModelCall};
//! use rehearsal_core::{Content, ModelRequest};
//! use rehearsal_models::{Matcher, Reply, Rule, ScriptedModel};
//! use serde_json::json;
//!
//! let model = ScriptedModel::rules("clerk", [
//!     Rule::when(Matcher::user_contains("weather")).reply(Reply::call("weather", json!({"city": "Oslo"}))),
//!     Rule::when(Matcher::tool_result("weather")).reply("It rains in Oslo."),
//! ]);
//!
//! let asks = |text: &str| ModelCall {
//!     session: "s-1".into(),
//!     agent: "assistant".into(),
//!     turn: "t-1".into(),
//!     index: 0,
//!     request: ModelRequest { contents: vec![Content::user(text).into()], ..ModelRequest::default() },
//!     metering: Metering::default(),
//! };
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let answer = model.respond(&asks("how is the weather?")).await?;
//! assert_eq!(answer.content.calls().next().unwrap().name, "weather");
//!
//! let error = model.respond(&asks("tell me a joke")).await.unwrap_err().to_string();
//! assert!(error.contains("user: tell me a joke"));
//! assert!(error.contains("1. when the user says something with `weather`"));
//! # Ok::<(), rehearsal_agent::ModelError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A provider is named in one word and gets its key from the environment that the program hands in. Keys are in
//! no ledger, no error and no [`Debug`] output:
//!
//! ```
//! use rehearsal_models::{ModelSpec, connect};
//!
//! let spec: ModelSpec = "anthropic:claude-sonnet-4-5".parse()?;
//! let environment = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "sk-ant-secret".to_owned());
//! let model = connect(&spec, &environment)?;
//! assert!(!format!("{model:?}").contains("secret"));
//!
//! let error = connect(&spec, &|_| None).unwrap_err();
//! assert!(error.to_string().ends_with("hint: set the environment variable ANTHROPIC_API_KEY"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "providers")]
mod embed;
#[cfg(feature = "providers")]
mod http;
#[cfg(feature = "providers")]
mod key;
#[cfg(feature = "providers")]
mod limit;
#[cfg(feature = "providers")]
mod plain;
#[cfg(feature = "providers")]
mod protocol;
#[cfg(feature = "providers")]
mod provider;
#[cfg(feature = "providers")]
mod providers;
mod recording;
mod request_text;
mod script;
mod shorten;
#[cfg(feature = "providers")]
mod spec;
#[cfg(feature = "providers")]
pub mod wire;

#[cfg(feature = "providers")]
#[cfg(feature = "providers")]
pub use provider::Provider;
#[cfg(feature = "providers")]
pub use providers::{Environment, Network, Options, Providers, Retry, Timeouts, connect};
pub use recording::Recording;
pub use script::{IntoAnswer, InvalidPattern, Matcher, Reply, Rule, RuleStart, ScriptedModel};
#[cfg(feature = "providers")]
pub use spec::{Api, ModelSpec, ParseSpecError};
