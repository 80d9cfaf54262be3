//! Keeping a run in the store, and telling how it goes.

use std::any::Any;
use std::fs;
use std::sync::{Arc, OnceLock};

use rehearsal_core::SystemClock;
use rehearsal_run::{CaseKey, Counts, KeptRun, Watch};
use rehearsal_sim::CaseRun;
use rehearsal_sim::person::{PersonCue, PersonPart};
use rehearsal_store::{RunAbout, RunRecord, RunWish};
use serde_json::Value;

use super::progress::Progress;
use super::resume::Going;
use crate::error::CommandError;
use crate::output;
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

    /// Opens the store and goes on keeping a run.
    pub(super) async fn go_on(place: &Place, going: &Going, about: RunAbout) -> Result<Self, CommandError> {
        let store = place.open().await?;
        // What it was made from, and what it is called, is as it was.
        let before = going.record.about.clone();
        let about =
            RunAbout { process: about.process, name: about.name.or_else(|| before.name.clone()), ..before };
        let record = RunRecord { about, ..going.record.clone() };
        let run = KeptRun::take_over(store, Arc::new(SystemClock), record, going.seen).await;
        Ok(Self { run: run.map_err(CommandError::setup)?, place: place.clone() })
    }

    /// The command that goes on with the run.
    pub(super) fn resume(&self) -> String {
        let id = self.run.id();
        format!("rehearse run --resume {}{}", crate::shelf::short(&id), self.place.option())
    }

    /// Leaves the store as it is when the program ends. Everything is written; to fold the log of `SQLite` into its file
    /// costs more flushes of the disk than a small run, so that is left to one that finds a long log.
    pub(super) async fn leave(self) {
        const LONG: u64 = 1 << 20;
        let place = self.place.text();
        let Ok(log) = fs::metadata(format!("{place}-wal")) else { return };
        if log.len() >= LONG {
            // What cannot be folded now stays in the log, which is a part of the store.
            let _folded = rehearsal_store::fold(&place).await;
        }
        std::mem::forget(self);
    }

    /// Makes the store's file whole by itself: the part of a run that it holds is about to be sent elsewhere.
    pub(super) async fn fold(&self) {
        if let Err(error) = rehearsal_store::fold(&self.place.text()).await {
            let place = self.place.text();
            output::warning(
                format_args!("`{place}` is not whole by itself: {error}"),
                format_args!("where you copy it, copy `{place}-wal` beside it too"),
            );
        }
    }

    /// The command that shows the run again.
    pub(super) fn command(&self) -> String {
        let id = self.run.id();
        format!("rehearse runs {}{}", crate::shelf::short(&id), self.place.option())
    }
}

/// Shows how a run goes, and says where people answer.
pub(super) struct Onlooker {
    progress: Progress,
    /// What to add to `rehearse serve`.
    option: String,
    told: OnceLock<()>,
}

impl Onlooker {
    pub(super) fn new(progress: Progress, place: &Place) -> Self {
        Self { progress, option: place.option(), told: OnceLock::new() }
    }
}

impl Watch for Onlooker {
    fn started(&self, key: CaseKey, name: &str) {
        self.progress.started(key, name);
    }

    fn counted(&self, key: CaseKey, counts: Counts) {
        self.progress.counted(key, counts);
    }

    fn finished(&self, key: CaseKey, run: &CaseRun) {
        self.progress.finished(key, run);
    }

    fn asked(&self, name: &str, cue: &PersonCue) -> Box<dyn Any + Send> {
        if self.told.set(()).is_ok() {
            let option = &self.option;
            self.progress.say(&format!(
                "a person is asked: start `rehearse serve{option}` in this folder and answer there \
                 (GET /v1/cues, POST /v1/cues/ID/answer)"
            ));
        }
        Box::new(self.progress.waiting(name, &described(cue)))
    }

    fn wished(&self, wish: Option<RunWish>) {
        self.progress.wished(wish);
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
