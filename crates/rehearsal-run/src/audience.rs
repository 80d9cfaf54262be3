//! The people of a run, who answer through the store.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rehearsal_core::{Failure, Phase};
use rehearsal_sim::person::{People, PersonCue};
use serde_json::Value;

use crate::{KeptRun, Watch};

/// The people of a run. Cases are made with them before the run is begun, which opens it to them.
#[derive(Clone, Default)]
pub struct Audience(Arc<OnceLock<Open>>);

struct Open {
    run: Arc<KeptRun>,
    watch: Arc<dyn Watch>,
}

impl Audience {
    /// From now on people can be asked.
    pub fn open(&self, run: Arc<KeptRun>, watch: Arc<dyn Watch>) {
        // It opens once.
        drop(self.0.set(Open { run, watch }));
    }

    /// The people of the case at this place.
    pub fn people(&self, case: usize, name: &str) -> Arc<dyn People> {
        Arc::new(Seats { audience: self.clone(), case, name: name.to_owned() })
    }
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").field("open", &self.0.get().is_some()).finish()
    }
}

/// The people of one case.
#[derive(Debug)]
struct Seats {
    audience: Audience,
    case: usize,
    name: String,
}

#[async_trait]
impl People for Seats {
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        let Some(open) = self.audience.0.get() else {
            return Err(Failure {
                phase: Phase::System,
                kind: "store".to_owned(),
                message: "nobody can be asked before the run has begun".to_owned(),
            });
        };
        let _waiting = open.watch.asked(&self.name, &cue);
        open.run.case(self.case).ask(cue).await
    }
}
