//! Who can play the model: providers, script, recording

mod http;
mod key;
mod protocol;
mod provider;
mod providers;
mod spec;
pub mod wire;

pub use provider::Provider;
pub use providers::{Environment, Network, Options, Providers, Retry, Timeouts, connect};
pub use spec::{Api, ModelSpec, ParseSpecError};
