//! Metering: what calls of models use is reserved before they are made and counted afterwards.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rehearsal_core::{ModelResponse, Player, Usage};

use crate::{Model, ModelCall, ModelError};

/// Says whether a model may be asked, and counts what it used: a budget.
#[async_trait]
pub trait Meter: Send + Sync + fmt::Debug {
    /// Waits until a call fits into what is left, and reserves what it may use.
    ///
    /// # Errors
    /// It does not fit, whatever becomes of the calls that are under way.
    async fn begin(
        self: Arc<Self>,
        model: &Arc<str>,
        player: Player,
        call: &ModelCall,
    ) -> Result<Arc<dyn Charge>, ModelError>;

    /// An agent that runs elsewhere has said something, and perhaps what its models used until then.
    fn told(&self, agent: &str, usage: Option<Usage>);
}

/// What is reserved for a call. Where it is dropped before anybody says what came of the call, all of it counts as used.
#[async_trait]
pub trait Charge: Send + Sync + fmt::Debug {
    /// Reserves as much again, where an attempt was lost.
    ///
    /// # Errors
    /// It does not fit any more.
    async fn again(&self) -> Result<(), ModelError>;

    /// An attempt was sent and nothing came back. It may have used all that was reserved for it, and counts so.
    fn lost(&self);

    /// The call was answered, and used this.
    ///
    /// # Errors
    /// The answer does not say what it used, so that no budget can be kept.
    fn answered(&self, usage: Option<Usage>) -> Result<(), ModelError>;

    /// The call came to nothing and used nothing.
    fn free(&self);
}

/// Who counts what a call uses.
#[derive(Clone, Debug, Default)]
pub enum Metering {
    /// Nobody.
    #[default]
    Free,
    /// Whoever asks the model has this reserve something for the call first.
    By(Arc<dyn Meter>),
    /// This was reserved for the call.
    Charged(Arc<dyn Charge>),
}

impl Metering {
    /// Reserves as much again, where an attempt of this call was lost. Models that try more than once ask before each
    /// attempt.
    ///
    /// # Errors
    /// It does not fit any more.
    pub async fn again(&self) -> Result<(), ModelError> {
        match self {
            Self::Charged(charge) => charge.again().await,
            Self::Free | Self::By(_) => Ok(()),
        }
    }

    /// An attempt was sent and nothing came back.
    pub fn lost(&self) {
        if let Self::Charged(charge) = self {
            charge.lost();
        }
    }
}

/// Asks a model, and has what that uses counted.
pub(crate) async fn metered(
    model: &Arc<dyn Model>,
    meter: &Arc<dyn Meter>,
    call: &ModelCall,
) -> Result<ModelResponse, ModelError> {
    let charge = meter.clone().begin(&model.name(), model.player(), call).await?;
    let call = ModelCall { metering: Metering::Charged(charge.clone()), ..call.clone() };
    let answer = model.respond(&call).await;
    match &answer {
        Ok(response) => charge.answered(response.usage)?,
        Err(_) => charge.free(),
    }
    answer
}
