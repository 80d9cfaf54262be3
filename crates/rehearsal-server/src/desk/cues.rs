//! Cues as people see them.

use rehearsal_core::{CallId, CueDismissed, EventBody, Seam, SessionId, Timestamp, TurnId};
use rehearsal_sim::person::model_prompt;
use rehearsal_store::{Cue, CueChange, CueId, CueKind, CueQuery, CueStatus, SessionSource};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::Desk;
use super::sessions::ENGINE;
use super::view::moment;
use crate::problem::Class;
use crate::{Kind, Problem};

/// Something a person is asked to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CueView {
    /// Its id; for cues of the model this is the turn's.
    pub id: String,
    /// The session.
    pub session: String,
    /// `model`, `tool` or `user`.
    #[schema(value_type = String)]
    pub kind: CueKind,
    /// The agent that waits.
    pub agent: String,
    /// The model turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub turn_id: Option<TurnId>,
    /// The tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub call_id: Option<CallId>,
    /// `open`, `abandoned`, `answered` or `dismissed`.
    #[schema(value_type = String)]
    pub status: CueStatus,
    /// Its place among the session's cues.
    pub position: u64,
    /// Whether it is the one that can be answered now.
    pub head: bool,
    /// When it was opened.
    #[schema(value_type = String, format = DateTime)]
    pub opened_at: Timestamp,
    /// When somebody was last seen waiting for it.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Timestamp,
    /// When it was answered or dismissed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub closed_at: Option<Timestamp>,
    /// What is needed to decide. Left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub prompt: Option<Value>,
    /// The event that holds the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_event: Option<String>,
}

/// Cues in the order they are to be answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SessionCues {
    /// The cues.
    pub cues: Vec<CueView>,
}

impl CueView {
    fn of(cue: Cue, head: bool) -> Self {
        Self {
            id: cue.id.to_string(),
            session: cue.session.to_string(),
            kind: cue.kind,
            agent: cue.agent,
            turn_id: cue.turn,
            call_id: cue.call,
            status: cue.status,
            position: cue.position,
            head,
            opened_at: moment(cue.opened_at),
            seen_at: moment(cue.seen_at),
            closed_at: cue.closed_at.map(moment),
            prompt: None,
            answer_event: cue.answer_event,
        }
    }
}

impl Desk {
    /// Cues in the order they are to be answered.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn cues(&self, query: &CueQuery) -> Result<SessionCues, Problem> {
        let mut heads: std::collections::BTreeSet<SessionId> = std::collections::BTreeSet::new();
        let cues = self.store.cues(query).await?;
        let mut views = Vec::with_capacity(cues.len());
        for cue in cues {
            let head = cue.status == CueStatus::Open && heads.insert(cue.session.clone());
            views.push(CueView::of(cue, head));
        }
        Ok(SessionCues { cues: views })
    }

    /// One cue with what is needed to decide.
    ///
    /// # Errors
    /// There is none.
    pub async fn cue(&self, id: &CueId) -> Result<CueView, Problem> {
        let cue = self.found_cue(id).await?;
        let head = self.head(&cue.session).await?.is_some_and(|head| head.id == cue.id);
        let prompt = self.prompt(&cue).await?;
        Ok(CueView { prompt: Some(prompt), ..CueView::of(cue, head) })
    }

    /// Puts a cue away. Who waits for it is told that no answer will come.
    ///
    /// # Errors
    /// It is answered or dismissed already.
    pub async fn dismiss(&self, id: &CueId) -> Result<CueView, Problem> {
        let cue = self.found_cue(id).await?;
        refuse_closed(&cue)?;
        self.change(&cue.session, |pen| {
            pen.cue(CueChange::Dismiss { cue: cue.id.clone() });
            if pen.record().source == SessionSource::Run {
                return Ok(()); // its ledger is written by the run itself
            }
            let kind = match cue.kind {
                CueKind::Model => Seam::Model,
                CueKind::Tool => Seam::Tool,
                CueKind::User => Seam::User,
            };
            let agent = Some(cue.agent.clone());
            let dismissed = CueDismissed { cue: cue.id.to_string(), kind, agent };
            pen.append(pen.draft(ENGINE, EventBody::CueDismissed(dismissed)))?;
            Ok(())
        })
        .await?;
        self.cue(id).await
    }

    pub(super) async fn found_cue(&self, id: &CueId) -> Result<Cue, Problem> {
        self.store.cue(id).await?.ok_or_else(|| Problem::not_found("cue", id))
    }

    /// The cue of a session that can be answered now.
    pub(super) async fn head(&self, session: &SessionId) -> Result<Option<Cue>, Problem> {
        let query = CueQuery { session: Some(session.clone()), statuses: vec![CueStatus::Open], limit: 1 };
        Ok(self.store.cues(&query).await?.into_iter().next())
    }

    /// What is needed to decide: kept with the cue, or on the ledger under its turn.
    pub(super) async fn prompt(&self, cue: &Cue) -> Result<Value, Problem> {
        match &cue.turn {
            Some(turn) if cue.prompt.is_null() => {
                let standing = self.standing(&cue.session).await?;
                let request =
                    standing.ledger.request(turn).ok_or_else(|| Problem::not_found("turn", turn))?;
                Ok(model_prompt(&request))
            }
            _ => Ok(cue.prompt.clone()),
        }
    }
}

/// Refuses what comes too late for a cue.
pub(super) fn refuse_closed(cue: &Cue) -> Result<(), Problem> {
    match cue.status {
        CueStatus::Open | CueStatus::Abandoned => Ok(()),
        CueStatus::Answered => {
            let detail = format!("cue `{}` was answered already", cue.id);
            let problem = Problem::conflict(Kind::Answered, detail);
            Err(match &cue.answer_event {
                Some(event) => problem.with("event_id", event.as_str()),
                None => problem,
            })
        }
        CueStatus::Dismissed => {
            Err(Problem::new(Class::Gone, Kind::Dismissed, format!("cue `{}` was dismissed", cue.id)))
        }
    }
}

/// Refuses an answer that nobody would hear: whoever asked has gone.
pub(super) fn refuse_unheard(cue: &Cue) -> Result<(), Problem> {
    if cue.status != CueStatus::Abandoned {
        return Ok(());
    }
    let Cue { id, agent, .. } = cue;
    let seen = moment(cue.seen_at);
    let detail = format!(
        "nobody waits for cue `{id}` any more: the program that runs agent `{agent}` is gone, and was last seen at {seen}. \
         The answer was not taken. Where the program comes back, the cue is open again; `?anyway=true` keeps the answer for it \
         until then, and POST /v1/cues/{id}/dismiss puts the cue away"
    );
    Err(Problem::conflict(Kind::AgentGone, detail).with("cue", id.as_str()).with("seen_at", seen.to_string()))
}
