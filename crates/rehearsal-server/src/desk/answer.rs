//! Answers to cues.

use bytes::Bytes;
use rehearsal_core::{
    Content, Decision, Draft, EventBody, ModelRequest, ModelResponse, Player, Role, SessionId, TurnId,
};
use rehearsal_sim::person::{PersonPart, check_answer, check_model_answer};
use rehearsal_store::{Cue, CueChange, CueId, CueKind, CueStatus, Payload, SessionSource};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::cues::{refuse_closed, refuse_unheard};
use super::{Desk, Pen};
use crate::ids::{self, clip, fresh};
use crate::{Kind, Problem};

/// The longest idempotency key.
const LONGEST_KEY: usize = 200;

/// An answer somebody gives.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAnswer {
    /// The answer: see the reference of the API for its forms.
    pub answer: Value,
    /// Repeats of the same answer with the same key are taken once.
    pub key: Option<String>,
    /// Who answers, for the ledger.
    pub name: Option<String>,
    /// Whether to keep it for whoever comes back, where nobody waits for it any more.
    pub anyway: bool,
}

/// An answer that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Answered {
    /// The cue.
    pub cue: String,
    /// The event that holds the answer. Nothing for a cue of a run, whose own process writes its ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

impl Desk {
    /// Answers a cue.
    ///
    /// # Errors
    /// It is not the head of its session, was answered or dismissed, or the answer is not valid.
    pub async fn answer(&self, id: &CueId, given: NewAnswer) -> Result<Answered, Problem> {
        if let Some(key) = given.key.as_deref().filter(|key| key.is_empty() || key.len() > LONGEST_KEY) {
            let detail =
                format!("an Idempotency-Key has 1 to {LONGEST_KEY} characters; `{}` has not", clip(key));
            return Err(Problem::invalid(Kind::InvalidKey, detail));
        }
        let cue = self.found_cue(id).await?;
        if let Some(answered) = repeat(&cue, &given)? {
            return Ok(answered);
        }
        refuse_closed(&cue)?;
        if !given.anyway {
            refuse_unheard(&cue)?;
        }
        self.require_head(&cue).await?;
        let taken = match &cue.turn {
            Some(turn) if cue.prompt.is_null() => self.answer_turn(&cue, turn, &given).await,
            _ => self.answer_run(&cue, &given).await,
        };
        match taken {
            // Two answers came at the same moment. The store took one; this may be the same again.
            Err(problem) if matches!(problem.kind, Kind::Refused | Kind::Answered) => {
                let cue = self.found_cue(id).await?;
                match repeat(&cue, &given)? {
                    Some(answered) => Ok(answered),
                    None => Err(refuse_closed(&cue).err().unwrap_or(problem)),
                }
            }
            other => other,
        }
    }

    /// Answers the head cue of a session with one tool call.
    ///
    /// # Errors
    /// See [`answer`](Self::answer); and nobody may be waiting.
    pub async fn call_tool(
        &self,
        session: &SessionId,
        tool: &str,
        args: &Value,
        key: Option<String>,
    ) -> Result<Answered, Problem> {
        self.record(session).await?;
        let answer = json!({"calls": [{"tool": tool, "args": args}]});
        // The same call again may find another head, or none.
        if let Some(earlier) = self.answered_with(session, key.as_deref()).await? {
            return self.answer(&earlier.id, NewAnswer { answer, key, name: None, anyway: false }).await;
        }
        let Some(head) = self.head(session).await? else {
            if let Some(gone) = self.unresolved(session).await?.first() {
                refuse_unheard(gone)?;
            }
            let detail = format!("nobody waits in session `{session}`: no agent asks its model now");
            return Err(Problem::conflict(Kind::NobodyWaits, detail));
        };
        if head.kind != CueKind::Model {
            let detail = format!("the head cue `{}` is not one of the model: answer it first", head.id);
            return Err(Problem::conflict(Kind::NotTheHead, detail).with("head", head.id.as_str()));
        }
        self.answer(&head.id, NewAnswer { answer, key, name: None, anyway: false }).await
    }

    /// The cue of a session that was answered with this idempotency key.
    async fn answered_with(&self, session: &SessionId, key: Option<&str>) -> Result<Option<Cue>, Problem> {
        let Some(key) = key else { return Ok(None) };
        Ok(self.store.answered_cue(session, key).await?)
    }

    /// Takes a decision of a client of the published protocol, exactly as it came.
    ///
    /// # Errors
    /// See [`answer`](Self::answer).
    pub async fn decide(&self, session: &SessionId, turn: &str, payload: Bytes) -> Result<Answered, Problem> {
        let turn = TurnId::new(ids::uuid4("turn id", turn)?);
        let response = self.published.read_response(&payload).map_err(|problems| {
            Problem::invalid(
                Kind::InvalidAnswer,
                format!("the response cannot be taken: {}", problems.join("; ")),
            )
        })?;
        if let Some(repeated) = self.decided(session, &turn, &payload).await? {
            return Ok(repeated);
        }
        match self.decide_turn(session, &turn, &response, payload.clone()).await {
            // Two decisions came at the same moment; the other one was taken, and this may be the same.
            Err(problem) if matches!(problem.kind, Kind::Refused | Kind::Answered) => {
                self.decided(session, &turn, &payload).await?.ok_or(problem)
            }
            other => other,
        }
    }

    async fn decide_turn(
        &self,
        session: &SessionId,
        turn: &TurnId,
        response: &ModelResponse,
        payload: Bytes,
    ) -> Result<Answered, Problem> {
        let cue = self.found_cue(&CueId::new(turn.as_str())).await?;
        if cue.session != *session {
            return Err(Problem::not_found("turn", turn));
        }
        refuse_closed(&cue)?;
        refuse_unheard(&cue)?;
        self.require_head(&cue).await?;
        let said = Content { role: Some(Role::Model), ..(*response.content).clone() };
        let content = json!({"content": said});
        let given = NewAnswer { answer: Value::Null, key: None, name: None, anyway: false };
        self.write_response(&cue, turn, &given, |_, request| {
            check_model_answer(&request.setup, &content).map_err(not_valid)?;
            Ok((response.clone(), payload.clone()))
        })
        .await
    }

    /// The earlier decision of a turn, when this one repeats it byte for byte; nothing while there is none.
    async fn decided(
        &self,
        session: &SessionId,
        turn: &TurnId,
        payload: &Bytes,
    ) -> Result<Option<Answered>, Problem> {
        let (request, answered) = self.store.turn(session, turn).await?;
        if request.is_none() {
            self.record(session).await?;
            return Err(Problem::not_found("turn", turn));
        }
        match answered {
            Some(earlier) if self.payload(session, &earlier, &mut None).await? == *payload => {
                Ok(Some(Answered { cue: turn.to_string(), event_id: Some(earlier.event_id) }))
            }
            Some(_) => Err(Problem::conflict(Kind::Answered, format!("turn `{turn}` was answered already"))),
            None => Ok(None),
        }
    }

    async fn require_head(&self, cue: &Cue) -> Result<(), Problem> {
        if cue.status == CueStatus::Abandoned {
            return Ok(());
        }
        match self.head(&cue.session).await? {
            Some(head) if head.id != cue.id && head.position < cue.position => {
                let detail = format!(
                    "cue `{}` is not the first of its session: answer or dismiss `{}` of agent `{}` first",
                    cue.id, head.id, head.agent
                );
                Err(Problem::conflict(Kind::NotTheHead, detail).with("head", head.id.as_str()))
            }
            _ => Ok(()),
        }
    }

    /// Answers for a model: the answer is an event, and whoever asked is told.
    async fn answer_turn(&self, cue: &Cue, turn: &TurnId, given: &NewAnswer) -> Result<Answered, Problem> {
        self.write_response(cue, turn, given, |source, request| {
            let response = check_model_answer(&request.setup, &given.answer).map_err(not_valid)?;
            if source != SessionSource::Adksim {
                return Ok((response, Bytes::new()));
            }
            let lost = self.published.unsendable(&response);
            if !lost.is_empty() {
                return Err(not_valid(lost));
            }
            let payload = self.published.response_payload(&response);
            Ok((response, payload))
        })
        .await
    }

    /// Writes the response of a turn. `check` sees what was asked, on the ledger that is written to, and gives the
    /// response with the payload to keep.
    async fn write_response(
        &self,
        cue: &Cue,
        turn: &TurnId,
        given: &NewAnswer,
        check: impl Fn(SessionSource, &ModelRequest) -> Result<(ModelResponse, Bytes), Problem> + Sync,
    ) -> Result<Answered, Problem> {
        let event_id = fresh();
        self.change(&cue.session, |pen| {
            let request = pen.ledger().request(turn).ok_or_else(|| Problem::not_found("turn", turn))?;
            let (response, blob) = check(pen.record().source, &request)?;
            pen.require_active()?;
            let waited = pen.now().as_millisecond().saturating_sub(cue.opened_at);
            let decision = Decision {
                by: Player::Person,
                name: given.name.as_deref().map(Into::into),
                micros: u64::try_from(waited).unwrap_or(0).saturating_mul(1000),
            };
            self.respond(pen, turn, &response, decision, &event_id, blob)?;
            pen.cue(CueChange::Answer {
                cue: cue.id.clone(),
                answer: given.answer.clone(),
                key: given.key.clone(),
                event: Some(event_id.clone()),
            });
            Ok(())
        })
        .await?;
        Ok(Answered { cue: cue.id.to_string(), event_id: Some(event_id) })
    }

    /// Answers a cue of a run: the run's own process takes the answer from the store and writes its ledger.
    async fn answer_run(&self, cue: &Cue, given: &NewAnswer) -> Result<Answered, Problem> {
        let part = match cue.kind {
            CueKind::Model => PersonPart::Model,
            CueKind::Tool => PersonPart::Tool,
            CueKind::User => PersonPart::User,
        };
        let prompt = self.prompt(cue).await?;
        check_answer(part, &prompt, &given.answer).map_err(not_valid)?;
        self.change(&cue.session, |pen| {
            pen.cue(CueChange::Answer {
                cue: cue.id.clone(),
                answer: given.answer.clone(),
                key: given.key.clone(),
                event: None,
            });
            Ok(())
        })
        .await?;
        Ok(Answered { cue: cue.id.to_string(), event_id: None })
    }

    /// Appends the response of a turn, and what follows from it where the agent's plugin does not say so itself.
    fn respond(
        &self,
        pen: &mut Pen,
        turn: &TurnId,
        response: &ModelResponse,
        decision: Decision,
        event_id: &str,
        blob: Bytes,
    ) -> Result<(), Problem> {
        let drafts = if pen.record().source == SessionSource::Adksim {
            self.published.after_response(pen.ledger(), pen.now(), turn, response, decision)?
        } else {
            let asked = pen.ledger().events().iter().rev().find(|event| {
                event.turn.as_ref() == Some(turn) && matches!(event.body, EventBody::ModelRequest(_))
            });
            let asked = asked.ok_or_else(|| Problem::not_found("turn", turn))?;
            vec![Draft {
                invocation: asked.invocation.clone(),
                turn: Some(turn.clone()),
                decision: Some(decision),
                ..pen.draft(asked.author.clone(), EventBody::ModelResponse(response.clone()))
            }]
        };
        let mut answer = Some((event_id.to_owned(), blob));
        for draft in drafts {
            match answer.take_if(|_| matches!(draft.body, EventBody::ModelResponse(_))) {
                Some((id, blob)) => pen.append_as(id, Payload::Response, blob, draft)?,
                None => pen.append(draft)?,
            };
        }
        Ok(())
    }
}

/// The earlier answer, when this one repeats it: the same key and the same answer.
fn repeat(cue: &Cue, given: &NewAnswer) -> Result<Option<Answered>, Problem> {
    if cue.status != CueStatus::Answered || given.key.is_none() || cue.answer_key != given.key {
        return Ok(None);
    }
    if cue.answer.as_ref() == Some(&given.answer) {
        return Ok(Some(Answered { cue: cue.id.to_string(), event_id: cue.answer_event.clone() }));
    }
    let detail = "this Idempotency-Key came with another answer; a new answer needs a new key";
    Err(Problem::conflict(Kind::OtherAnswer, detail))
}

#[expect(clippy::needless_pass_by_value, reason = "it is used as a step from one error to another")]
fn not_valid(problems: Vec<String>) -> Problem {
    let detail = format!("the answer cannot be taken: {}", problems.join("; "));
    Problem::invalid(Kind::InvalidAnswer, detail).with("problems", json!(problems))
}
