//! Golden traces that a host writes into its agent's `EvalSet` file.

use std::time::Duration;

use rehearsal_adk::{GoldenTrace, TraceOptions};
use rehearsal_core::{Ledger, SessionId, Timestamp};
use rehearsal_store::{NewWork, Work, WorkKind, WorkOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Desk;
use super::hosts::PROGRAM;
use super::view::moment;
use crate::ids::fresh;
use crate::problem::{Class, Kind, Problem};
use crate::watch::Topic;

/// How long an export may take.
const EXPORT_LIMIT: Duration = Duration::from_mins(1);

/// A golden trace that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Exported {
    /// The file.
    pub path: String,
    /// The eval case in it.
    pub eval_id: String,
    /// How many cases were in the file then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<u64>,
    /// Whether the file was made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<bool>,
    /// When it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub at: Option<Timestamp>,
    /// Whether it had been written before and was not written again.
    #[serde(default)]
    pub repeated: bool,
    /// Why `adk eval` cannot run it to its end; empty where it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
}

impl Exported {
    fn of(result: Value, asked_at: i64) -> Result<Self, Problem> {
        let told: Self = rehearsal_core::json::from_value(result).map_err(|error| {
            Problem::conflict(
                Kind::ExportFailed,
                format!("the agent's host does not say what it wrote: {error}"),
            )
        })?;
        Ok(Self { at: Some(moment(asked_at)), ..told })
    }
}

impl Desk {
    /// The last export of a session.
    pub(super) async fn exported(&self, session: &SessionId) -> Result<Option<Exported>, Problem> {
        let work = self.store.done_work(session, WorkKind::Export).await?;
        Ok(work.and_then(|Work { outcome, created_at, .. }| match outcome {
            Some(WorkOutcome::Done(result)) => Exported::of(result, created_at).ok(),
            _ => None,
        }))
    }

    /// Why `adk eval` cannot run the golden trace of a completed session to its end, and how many messages it can.
    pub(super) fn cautions(ledger: &Ledger) -> (Vec<String>, Option<u64>) {
        match GoldenTrace::from_ledger(ledger, &TraceOptions::default()) {
            Ok(trace) if !trace.cautions.is_empty() => {
                let told = trace.cautions.iter().map(ToString::to_string).collect();
                (told, Some(trace.runnable() as u64))
            }
            _ => (Vec::new(), None),
        }
    }

    /// Asks the host of a session to write its golden trace into the agent's `EvalSet` file, and waits for it. What was
    /// written before is written `again` only when asked for.
    ///
    /// # Errors
    /// The session cannot be exported, or its host cannot.
    pub async fn export(
        &self,
        session: &SessionId,
        again: bool,
        runnable: bool,
    ) -> Result<Exported, Problem> {
        let standing = self.standing(session).await?;
        let trace = GoldenTrace::from_ledger(&standing.ledger, &TraceOptions::default())?;
        if let Some(first) = trace.cautions.first().filter(|_| runnable && trace.runnable() == 0) {
            let detail = format!("nothing of it can be run: {first}; export it as it is");
            return Err(Problem::conflict(Kind::NotRunnable, detail));
        }
        if !again && let Some(before) = self.exported(session).await? {
            return Ok(Exported { repeated: true, ..before });
        }
        let id = fresh();
        let host = self.ask_for_export(session, &id, json!({"again": again, "runnable": runnable})).await?;
        let deadline = tokio::time::sleep(EXPORT_LIMIT);
        tokio::pin!(deadline);
        let mut seat = self.sit(Topic::Work(host));
        loop {
            if let Some(Work { outcome: Some(outcome), created_at, .. }) = self.store.work(&id).await? {
                return match outcome {
                    WorkOutcome::Done(result) => Exported::of(result, created_at),
                    WorkOutcome::Failed(why) => Err(Problem::conflict(Kind::ExportFailed, why)),
                };
            }
            tokio::select! {
                () = seat.told() => {}
                () = &mut deadline => {
                    let detail = "the agent's host did not export it in time; is it still running?";
                    return Err(Problem::new(Class::Unavailable, Kind::HostSilent, detail));
                }
                () = self.closed() => {
                    return Err(Problem::new(Class::Unavailable, Kind::Closing, "the server is ending"));
                }
            }
        }
    }

    /// Gives the host that plays a session the work of exporting it, or another that runs the same agent when that one is
    /// gone; tells which.
    async fn ask_for_export(&self, session: &SessionId, id: &str, how: Value) -> Result<String, Problem> {
        let record = self.record(session).await?;
        let players = self.players_of(record.agent.as_deref().unwrap_or_default()).await?;
        let ready = || players.iter().filter(|player| player.online);
        let program = match record.meta.get(PROGRAM).and_then(Value::as_str) {
            Some(program) if self.is_there(program).await? => Some(program.to_owned()),
            _ => None,
        };
        let mut host = String::new();
        self.change(session, |pen| {
            let by_hand = format!("`rehearse export {session} --evalset FILE`");
            let meta = &pen.record().meta;
            let own = meta.get("host").and_then(Value::as_str);
            if own.is_none() && meta.get(PROGRAM).is_none() {
                let detail =
                    format!("no host plays this session, so no file is known for it; write one with {by_hand}");
                return Err(Problem::conflict(Kind::NoHost, detail));
            }
            let found = match own {
                Some(own) => ready().find(|player| player.host == own).or_else(|| ready().next()),
                None => None,
            };
            let Some(found) = found.map(|player| &player.host).or(program.as_ref()) else {
                let remedy = if own.is_some() { "start it again, or " } else { "" };
                let detail = format!(
                    "the program that plays this session is gone; {remedy}write the golden trace into a file with {by_hand}"
                );
                return Err(Problem::conflict(Kind::HostOffline, detail));
            };
            host.clone_from(found);
            let payload = how.clone();
            pen.work(NewWork { id: id.to_owned(), host: host.clone(), kind: WorkKind::Export, payload });
            Ok(())
        })
        .await?;
        Ok(host)
    }
}
