//! A session as people and programs see it.

use rehearsal_core::{EventBody, Ledger, SessionId, SessionPart, Timestamp};
use rehearsal_store::{
    CueQuery, CueStatus, Host, Page, RunQuery, RunRecord, SessionQuery, SessionRecord, SessionSource,
    SessionStatus, StoreError, StoredEvent,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::export::Exported;
use super::failing::{FAILURE, Failure, last_failure};
use super::hosts::PROGRAM;
use super::sessions::is_running;
use super::{Desk, Standing};
use crate::{Kind, Problem};

/// Where a session stands in its life, as its ledger says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// No agent is chosen.
    SelectingAgent,
    /// Nothing has been said.
    AwaitingQuery,
    /// It goes on.
    Active,
    /// Its last run failed: nothing waits for an answer, and the user can speak again.
    Failed,
    /// It ended with a final response.
    Completed,
    /// It ended without one.
    Cancelled,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// Its id.
    pub id: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When its last event was written.
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
    /// A label for people.
    pub description: Option<String>,
    /// `active`, `completed` or `cancelled`.
    #[schema(value_type = String)]
    pub status: SessionStatus,
    /// Where it stands in its life. In lists only `failed` is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SessionState>,
    /// Why its last run failed, until the user speaks again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<Failure>,
    /// The agent, once one is chosen.
    pub agent: Option<String>,
    /// `api`, `adksim`, `run` or `import`.
    #[schema(value_type = String)]
    pub source: SessionSource,
    /// The part it plays in a case: `main`, `user` or `judge`.
    #[schema(value_type = String)]
    pub part: SessionPart,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The number of its last event.
    pub last_seq: u64,
    /// The host that plays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Whether that host is there. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_online: Option<bool>,
    /// The program that plays it by itself, in which its agent runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// Whether that program is there. In lists only for sessions that go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_online: Option<bool>,
    /// The cue that can be answered now. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// How many cues wait for an answer. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_cues: Option<u64>,
    /// Where its golden trace was last written by its host. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exported: Option<Exported>,
    /// Why `adk eval` could not run the golden trace of this completed session to its end, before it is exported. Left
    /// out in lists, and where it could.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cautions: Vec<String>,
    /// How many messages `runnable` would export, where there are cautions; 0 where nothing of it can be run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable_messages: Option<u64>,
    /// The tool calls that have no result yet. Always empty in lists.
    #[serde(default)]
    pub waiting_calls: Vec<RunningCall>,
}

/// A tool call without a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunningCall {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[schema(value_type = Object)]
    pub args: Map<String, Value>,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub since: Timestamp,
}

/// A moment the store keeps.
pub(crate) fn moment(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

impl SessionView {
    pub(crate) fn listed(record: SessionRecord) -> Self {
        let has_failed = record.failure().is_some();
        let failure = record.meta.get(FAILURE).cloned();
        let last_error: Option<Failure> = failure.and_then(|failure| serde_json::from_value(failure).ok());
        Self {
            id: record.id.to_string(),
            created_at: moment(record.created_at),
            updated_at: moment(record.updated_at),
            description: record.description,
            status: record.status,
            state: has_failed.then_some(SessionState::Failed),
            last_error,
            agent: record.agent,
            source: record.source,
            part: record.part,
            run: record.run,
            last_seq: record.last_seq,
            host: record.meta.get("host").and_then(Value::as_str).map(str::to_owned),
            program: record.meta.get(PROGRAM).and_then(Value::as_str).map(str::to_owned),
            program_online: None,
            head: None,
            host_online: None,
            open_cues: None,
            exported: None,
            cautions: Vec::new(),
            runnable_messages: None,
            waiting_calls: Vec::new(),
        }
    }
}

/// A page that cannot be given because its token is none.
fn page_problem(error: StoreError, token: Option<&str>) -> Problem {
    match error {
        StoreError::Refused(why) if token.is_some() => Problem::invalid(Kind::InvalidPageToken, why),
        other => other.into(),
    }
}

/// Where a session stands in its life.
fn state_of(record: &SessionRecord, ledger: &Ledger) -> SessionState {
    let began = |event: &std::sync::Arc<rehearsal_core::Event>| {
        matches!(event.body, EventBody::UserMessage { .. } | EventBody::ModelRequest(_))
    };
    match record.status {
        SessionStatus::Completed => SessionState::Completed,
        SessionStatus::Cancelled if record.failure().is_some() => SessionState::Failed,
        SessionStatus::Cancelled => SessionState::Cancelled,
        SessionStatus::Active if last_failure(ledger).is_some() && !is_running(ledger) => {
            SessionState::Failed
        }
        SessionStatus::Active if ledger.events().iter().any(began) => SessionState::Active,
        SessionStatus::Active if record.agent.is_some() => SessionState::AwaitingQuery,
        SessionStatus::Active => SessionState::SelectingAgent,
    }
}

impl Desk {
    /// One session.
    ///
    /// # Errors
    /// There is none.
    pub async fn session(&self, id: &SessionId) -> Result<SessionView, Problem> {
        let standing = self.standing(id).await?;
        self.view(standing).await
    }

    pub(super) async fn view(&self, standing: Standing) -> Result<SessionView, Problem> {
        let Standing { record, ledger, .. } = standing;
        let state = state_of(&record, &ledger);
        let is_completed = record.status == SessionStatus::Completed;
        let (cautions, runnable_messages) =
            if is_completed { Self::cautions(&ledger) } else { (Vec::new(), None) };
        let open = |call: &rehearsal_core::CallView<'_>| call.answer.is_none();
        let waiting_calls = if record.status == SessionStatus::Active {
            let calls = ledger.calls().filter(open).map(|call| RunningCall {
                call_id: call.call.to_string(),
                tool: call.tool.to_string(),
                args: (**call.args).clone(),
                since: call.event.at,
            });
            calls.collect()
        } else {
            Vec::new()
        };
        let cues = self.unresolved(&record.id).await?;
        let head = cues.iter().find(|cue| cue.status == CueStatus::Open).map(|cue| cue.id.to_string());
        let host_online = self.is_named_there(&record, "host").await?;
        let program_online = self.is_named_there(&record, PROGRAM).await?;
        let id = record.id.clone();
        let is_cancelled = record.status == SessionStatus::Cancelled;
        let listed = SessionView::listed(record);
        Ok(SessionView {
            state: Some(state),
            last_error: last_failure(&ledger).or(listed.last_error.filter(|_| is_cancelled)),
            host_online,
            program_online,
            head,
            open_cues: Some(cues.len() as u64),
            exported: self.exported(&id).await?,
            cautions,
            runnable_messages,
            waiting_calls,
            ..listed
        })
    }

    /// Whether the host is there that a session's meta names, where it names one.
    async fn is_named_there(&self, record: &SessionRecord, key: &str) -> Result<Option<bool>, Problem> {
        match record.meta.get(key).and_then(Value::as_str) {
            Some(host) => Ok(Some(self.is_there(host).await?)),
            None => Ok(None),
        }
    }

    /// Sessions, newest first.
    ///
    /// # Errors
    /// The page token is none.
    pub async fn sessions(&self, query: &SessionQuery) -> Result<Page<SessionView>, Problem> {
        let page = self.session_records(query).await?;
        let mut items = Vec::with_capacity(page.items.len());
        let (hosts, now) = (self.store.hosts().await?, self.now_ms());
        for record in page.items {
            let program_online = Host::is_program_gone(&hosts, &record, now).map(|is_gone| !is_gone);
            items.push(SessionView { program_online, ..SessionView::listed(record) });
        }
        Ok(Page { items, next: page.next })
    }

    /// Sessions as the store has them.
    pub(crate) async fn session_records(&self, query: &SessionQuery) -> Result<Page<SessionRecord>, Problem> {
        self.store.sessions(query).await.map_err(|error| page_problem(error, query.page_token.as_deref()))
    }

    /// Runs, newest first.
    pub(crate) async fn runs(&self, query: &RunQuery) -> Result<Page<RunRecord>, Problem> {
        self.store.runs(query).await.map_err(|error| page_problem(error, query.page_token.as_deref()))
    }

    /// The cues of a session that wait for an answer, in order.
    pub(crate) async fn unresolved(&self, session: &SessionId) -> Result<Vec<rehearsal_store::Cue>, Problem> {
        let statuses = vec![CueStatus::Open, CueStatus::Abandoned];
        Ok(self.store.cues(&CueQuery { session: Some(session.clone()), statuses, limit: 1000 }).await?)
    }

    /// Events of a session after a number; of long outputs, the beginnings.
    ///
    /// # Errors
    /// There is no such session.
    pub async fn events(
        &self,
        session: &SessionId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<StoredEvent>, Problem> {
        let events = self.store.glance(session, after, limit).await?;
        if events.is_empty() {
            self.record(session).await?;
        }
        Ok(events)
    }
}
