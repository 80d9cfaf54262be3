//! Keeping a run in the store, and asking the people who answer there.

use std::fmt;
use std::fs;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rehearsal_core::{Failure, Phase, SessionId, Summary, SystemClock};
use rehearsal_run::KeptRun;
use rehearsal_sim::CaseRun;
use rehearsal_sim::person::{People, PersonCue, PersonPart};
use rehearsal_store::RunAbout;
use serde::Serialize;
use serde_json::Value;

use super::progress::Progress;
use crate::error::CommandError;
use crate::place::Place;

/// A run that is kept, and how to look at it.
pub(super) struct Keeping {
    pub(super) run: Arc<KeptRun>,
    place: Place,
}

impl Keeping {
    /// Opens the store and begins to keep a run.
    pub(super) async fn begin(place: &Place, title: &str, about: RunAbout) -> Result<Self, CommandError> {
        const INSTEAD: &str = "`--store FILE` keeps it elsewhere, `--no-store` nowhere; nothing was run";
        let failed = |why: CommandError| why.about("this run cannot be kept").hint(INSTEAD);
        let store = place.open().await.map_err(failed)?;
        let run = KeptRun::begin(store, Arc::new(SystemClock), title, about).await;
        Ok(Self { run: run.map_err(|error| failed(CommandError::setup(error)))?, place: place.clone() })
    }

    /// Keeps what the run came to.
    pub(super) async fn end(
        &self,
        interrupted: bool,
        summary: &Summary,
        result: &impl Serialize,
    ) -> Result<(), CommandError> {
        const NOT_WHOLE: &str = "what this run came to is not kept whole";
        let status = if interrupted {
            "interrupted"
        } else if summary.errors > 0 {
            "error"
        } else if summary.total > 0 && summary.passed == summary.total {
            "passed"
        } else {
            "failed"
        };
        let result =
            serde_json::to_value(result).map_err(|error| CommandError::internal(error).about(NOT_WHOLE))?;
        self.run.end(status, result).await.map_err(|error| CommandError::setup(error).about(NOT_WHOLE))
    }

    /// The ids in the store of the sessions of a case.
    pub(super) async fn sessions(&self, place: usize, case: &CaseRun) -> Vec<SessionId> {
        let mut ids = Vec::new();
        for ledger in case.ledgers().filter(|ledger| !ledger.events().is_empty()) {
            ids.push(self.run.session(place, ledger.session()).await);
        }
        ids
    }

    /// Leaves the store as it is when the program ends. Everything is written; to fold the log of `SQLite` into its file
    /// costs more flushes of the disk than a small run, so that is left to one that finds a long log.
    pub(super) fn leave(self) {
        const LONG: u64 = 1 << 20;
        let log = format!("{}-wal", self.place.text());
        if fs::metadata(log).is_ok_and(|log| log.len() < LONG) {
            std::mem::forget(self);
        }
    }

    /// The command that shows the run again.
    pub(super) fn command(&self) -> String {
        let id = self.run.id();
        format!("rehearse runs {}{}", crate::shelf::short(&id), self.place.option())
    }
}

/// The store and the progress of a run, which there are only once its scenarios are found to be fit to run.
#[derive(Clone, Default)]
pub(super) struct Curtain(Arc<OnceLock<Open>>);

struct Open {
    run: Arc<KeptRun>,
    progress: Progress,
    place: Place,
    told: OnceLock<()>,
}

impl Curtain {
    pub(super) fn open(&self, keeping: &Keeping, progress: &Progress) {
        let open = Open {
            run: keeping.run.clone(),
            progress: progress.clone(),
            place: keeping.place.clone(),
            told: OnceLock::new(),
        };
        // It opens once.
        drop(self.0.set(open));
    }

    /// The people of the scenario at this place.
    pub(super) fn people(&self, case: usize, name: &str) -> Arc<dyn People> {
        Arc::new(Audience { curtain: self.clone(), case, name: name.to_owned() })
    }
}

impl Open {
    /// Says where to answer, once.
    fn tell(&self) {
        if self.told.set(()).is_ok() {
            let option = self.place.option();
            self.progress.say(&format!(
                "a person is asked: start `rehearse serve{option}` in this folder and answer there \
                 (GET /v1/cues, POST /v1/cues/ID/answer)"
            ));
        }
    }
}

/// The people of a scenario, asked through the store.
struct Audience {
    curtain: Curtain,
    case: usize,
    name: String,
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audience").field("name", &self.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl People for Audience {
    async fn ask(&self, cue: PersonCue) -> Result<Value, Failure> {
        let Some(open) = self.curtain.0.get() else {
            return Err(Failure {
                phase: Phase::System,
                kind: "store".to_owned(),
                message: "nobody can be asked before the run has begun".to_owned(),
            });
        };
        open.tell();
        let _waiting = open.progress.waiting(&self.name, &described(&cue));
        open.run.case(self.case).ask(cue).await
    }
}

/// What a person is asked for, in words.
fn described(cue: &PersonCue) -> String {
    let tool = cue.prompt.get("tool").and_then(Value::as_str);
    match (cue.kind, tool) {
        (PersonPart::Tool, Some(tool)) => format!("tool `{tool}`"),
        (PersonPart::Tool, None) => "a tool".to_owned(),
        (PersonPart::Model, _) => format!("the model of `{}`", cue.agent),
        (PersonPart::User, _) => "the user".to_owned(),
    }
}
