//! A world that is a program and speaks JSON lines on its standard input and output.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rehearsal_core::ToolOutcome;
use rehearsal_core::mask::Masker;
use serde_json::{Value, json};

use super::wire::{Incoming, tools};
use super::{Occasion, World, WorldAnswer, WorldCall, WorldError, WorldStarter, WorldState, WorldTool};
use crate::program::{Launcher, Moment, Wire, shortened};

/// The version of the protocol.
const VERSION: u32 = 1;

/// Starts worlds that are programs and speak JSON lines.
#[derive(Clone, Debug)]
pub struct ProgramStarter {
    /// Starts the process.
    pub launcher: Arc<dyn Launcher>,
    /// Hides secrets in all that it says.
    pub masker: Masker,
    /// How long its start and each answer may take.
    pub limit: Duration,
}

#[async_trait]
impl WorldStarter for ProgramStarter {
    async fn start(&self, occasion: &Occasion) -> Result<Arc<dyn World>, WorldError> {
        let starting = self.launcher.start();
        let connection = starting.await.map_err(|why| WorldError::NotStarted { why })?;
        let mut wire = Wire::new(connection, self.masker.clone());
        let mut start = json!({
            "type": "start",
            "version": VERSION,
            "session": occasion.session.as_str(),
            "scenario": occasion.scenario,
            "folder": occasion.folder,
            "seed": occasion.seed,
        });
        if let Some(row) = &occasion.row {
            start["row"] = row.clone();
        }
        wire.send(&start);
        let mut talk = Talk { wire, limit: self.limit, logs: Vec::new() };
        let answer = talk.answer(&Asked::START).await?;
        let Incoming::Tools { tools: listed } = answer else {
            return Err(talk.unasked(&answer, &Asked::START));
        };
        let tools = talk.tools(listed)?;
        let shown = Shown { tools: tools.into(), logs: std::mem::take(&mut talk.logs) };
        let live = tokio::sync::Mutex::new(Live { talk: Ok(talk), calls: 0 });
        Ok(Arc::new(ProgramWorld { shown: Mutex::new(shown), live }))
    }
}

/// A world whose process runs.
#[derive(Debug)]
struct ProgramWorld {
    shown: Mutex<Shown>,
    live: tokio::sync::Mutex<Live>,
}

/// What is known of a world without asking it.
#[derive(Debug)]
struct Shown {
    tools: Arc<[WorldTool]>,
    logs: Vec<String>,
}

/// The process; or why there is none any more.
#[derive(Debug)]
struct Live {
    talk: Result<Talk, String>,
    /// How many calls it was given.
    calls: u64,
}

impl ProgramWorld {
    fn shown(&self) -> MutexGuard<'_, Shown> {
        // Nothing that can panic happens while it is held.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the process something. A world that could not answer is ended, and so is one whose answer nobody waits for
    /// any more: what it says next would be taken for the answer to something else.
    async fn ask(&self, live: &mut Live, message: &Value, asked: &Asked<'_>) -> Result<Incoming, WorldError> {
        let interrupted = "it was interrupted in the middle of a call".to_owned();
        let mut talk = std::mem::replace(&mut live.talk, Err(interrupted))
            .map_err(|because| WorldError::Gone { because: format!(": {because}") })?;
        talk.wire.begin_count();
        talk.wire.send(message);
        let answer = talk.answer(asked).await;
        self.shown().logs.append(&mut talk.logs);
        match answer {
            Ok(answer) if answer.kind() == asked.awaited => {
                live.talk = Ok(talk);
                Ok(answer)
            }
            Ok(answer) => Err(live.end(talk.unasked(&answer, asked))),
            Err(error) => Err(live.end(error)),
        }
    }
}

impl Live {
    /// Keeps why the world is gone.
    fn end(&mut self, error: WorldError) -> WorldError {
        let text = error.to_string();
        self.talk = Err(text.lines().next().unwrap_or_default().to_owned());
        error
    }

    /// The world said something that it cannot mean.
    fn refuse(&mut self, what: &str, hint: &str) -> WorldError {
        let why = match &self.talk {
            Ok(talk) => talk.wire.report(what, Some(hint)),
            Err(_) => what.to_owned(),
        };
        self.end(WorldError::Failed { why })
    }
}

#[async_trait]
impl World for ProgramWorld {
    fn tools(&self) -> Arc<[WorldTool]> {
        self.shown().tools.clone()
    }

    async fn call(&self, call: &WorldCall) -> Result<WorldAnswer, WorldError> {
        let mut live = self.live.lock().await;
        live.calls += 1;
        let number = live.calls.to_string();
        let message = json!({
            "type": "call", "id": number, "tool": call.tool, "args": call.args, "by": call.by.word(),
        });
        let place = format!("the call of `{}`", call.tool);
        let asked = Asked { place: &place, awaited: "result" };
        let answer = self.ask(&mut live, &message, &asked).await?;
        let Incoming::Result { id, output, error, state, tools: listed } = answer else {
            unreachable!("only a result is taken")
        };
        if id != number {
            let what =
                format!("it answered the call `{}`, and call `{number}` was made", shortened(&id, 100));
            return Err(live.refuse(&what, "give back the `id` of the call that is answered"));
        }
        let outcome = match (output, error) {
            (Some(output), None) => ToolOutcome::Output(output),
            (None, Some(error)) => ToolOutcome::Error(*error),
            (None, None) => {
                let what = format!("its answer to {place} has neither `output` nor `error`");
                return Err(live.refuse(&what, "a call that gives nothing has: \"output\": null"));
            }
            (Some(_), Some(_)) => {
                let what = format!("its answer to {place} has both `output` and `error`");
                return Err(live.refuse(&what, "give the one or the other"));
            }
        };
        if let Some(listed) = listed {
            match tools(listed) {
                Ok(tools) => self.shown().tools = tools.into(),
                Err(what) => return Err(live.refuse(&what, "`tools` lists all tools that there are now")),
            }
        }
        Ok(WorldAnswer { outcome, state })
    }

    async fn state(&self) -> Result<Option<WorldState>, WorldError> {
        let mut live = self.live.lock().await;
        match self.ask(&mut live, &json!({"type": "state"}), &Asked::STATE).await? {
            Incoming::State { state } => Ok(state),
            _ => unreachable!("only a state is taken"),
        }
    }

    fn take_logs(&self) -> Vec<String> {
        std::mem::take(&mut self.shown().logs)
    }

    async fn close(&self, patience: Duration) {
        let mut live = self.live.lock().await;
        if let Ok(talk) = std::mem::replace(&mut live.talk, Err("the case is over".to_owned())) {
            drop(talk.wire.close(&json!({"type": "end"}), patience).await);
        }
    }
}

/// What a world was asked.
#[derive(Clone, Copy, Debug)]
struct Asked<'a> {
    /// In words: `the call of ...`.
    place: &'a str,
    /// The type of its answer.
    awaited: &'static str,
}

impl Asked<'_> {
    const START: Self = Self { place: "its start", awaited: "tools" };
    const STATE: Self = Self { place: "a question for its state", awaited: "state" };
}

/// The conversation with a process.
#[derive(Debug)]
struct Talk {
    wire: Wire,
    limit: Duration,
    logs: Vec<String>,
}

impl Talk {
    /// The next message that is no log.
    async fn answer(&mut self, asked: &Asked<'_>) -> Result<Incoming, WorldError> {
        let limit = self.limit;
        match tokio::time::timeout(limit, self.listen(asked)).await {
            Ok(answer) => answer,
            Err(_) => {
                let said = self.wire.report("", None);
                Err(WorldError::TookTooLong { what: asked.place.to_owned(), limit, said })
            }
        }
    }

    async fn listen(&mut self, asked: &Asked<'_>) -> Result<Incoming, WorldError> {
        let when = format!("during {}", asked.place);
        let moment = Moment { when: &when, unit: "call", awaited: asked.awaited };
        loop {
            match self.wire.receive(&moment).await.map_err(|why| WorldError::Failed { why })? {
                Incoming::Log { text } => self.logs.push(text),
                Incoming::Error { message } => {
                    return Err(WorldError::Reported { why: self.wire.report(&message, None) });
                }
                answer => return Ok(answer),
            }
        }
    }

    /// What is said of an answer to something that was not asked.
    fn unasked(&self, answer: &Incoming, asked: &Asked<'_>) -> WorldError {
        let (kind, Asked { place, awaited }) = (answer.kind(), asked);
        let what = format!("it answered {place} with `{kind}`");
        let hint = format!("answer with `{awaited}`; between its answers a world says nothing but `log`");
        WorldError::Failed { why: self.wire.report(&what, Some(&hint)) }
    }

    fn tools(&self, listed: Vec<super::wire::ListedTool>) -> Result<Vec<WorldTool>, WorldError> {
        let hint = "`tools` lists all tools, each with another name";
        tools(listed).map_err(|what| WorldError::Failed { why: self.wire.report(&what, Some(hint)) })
    }
}
