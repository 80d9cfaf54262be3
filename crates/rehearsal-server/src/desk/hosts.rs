//! Hosts: processes that run agents for the server, and what they are given to do.

use std::time::Duration;

use rehearsal_core::{CallId, SessionId, Timestamp};
use rehearsal_store::{
    AgentRecord, Host, NewWork, SessionRecord, SessionStatus, Work, WorkKind, WorkOutcome,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::Desk;
use super::failing::{close_call, fail_run};
use super::sessions::{final_output, is_running};
use super::view::moment;
use crate::ids::{self, fresh};
use crate::presence::Waiting;
use crate::problem::{Class, Kind, Problem};
use crate::watch::Topic;

/// A host that was not seen for so long is forgotten.
const FORGOTTEN_MS: i64 = 24 * 60 * 60 * 1000;

/// Where a session's meta has the program that plays it by itself.
pub(super) const PROGRAM: &str = Host::PROGRAM;

/// A host and the agents it can run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewHost {
    /// A name for people.
    #[serde(default)]
    pub name: String,
    /// The agents it can run.
    pub agents: Vec<NewAgent>,
}

/// An agent that a host can run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NewAgent {
    /// Its name.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instruction: Option<String>,
    /// Its tools: name, description, JSON Schema of the parameters.
    #[serde(default)]
    #[schema(value_type = Vec<Object>)]
    pub tools: Vec<Map<String, Value>>,
    /// JSON Schema of what the user says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input_schema: Option<Value>,
    /// JSON Schema of its final response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub output_schema: Option<Value>,
}

/// An agent that the server knows.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct AgentView {
    /// The agent.
    #[serde(flatten)]
    pub agent: NewAgent,
    /// The host that runs it.
    pub host: String,
    /// The host's name.
    pub host_name: String,
    /// Whether the host is there.
    pub online: bool,
    /// When the host was last seen.
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Timestamp,
}

/// A host that runs an agent.
pub(super) struct Player {
    /// The host.
    pub(super) host: String,
    /// What it says of the agent.
    pub(super) about: AgentRecord,
    /// Whether it is there.
    pub(super) online: bool,
}

/// Something a host is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkView {
    /// Its id.
    pub id: String,
    /// `run`, `cancel` or `export`.
    pub kind: String,
    /// The session it is about.
    pub session: String,
    /// What is needed to do it: the agent, the message and the state of a `run`, the `call_id` of a `cancel`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
}

impl Desk {
    /// Keeps a host and its agents; also a sign of life.
    ///
    /// # Errors
    /// What it says is not valid.
    pub async fn register(&self, id: &str, host: NewHost) -> Result<(), Problem> {
        let id = ids::uuid4("host id", id)?;
        let mut agents = Vec::with_capacity(host.agents.len());
        for agent in host.agents {
            ids::agent(&agent.name)?;
            agents.push(kept(agent)?);
        }
        let host = Host { id, name: host.name, agents, seen_at: self.now_ms() };
        Ok(self.store.put_host(&host).await?)
    }

    /// Removes a host. What it was at, or was to do, has failed.
    ///
    /// # Errors
    /// There is none.
    pub async fn leave(&self, id: &str) -> Result<(), Problem> {
        let id = ids::uuid4("host id", id)?;
        let why = format!("host `{id}` went away before it was done");
        for work in self.store.open_runs(&id).await? {
            let session = self.store.session(&work.session).await?;
            if session.is_some_and(|session| session.status == SessionStatus::Active) {
                self.run_failed(&work, &why).await?;
            }
            self.store.finish_work(&work.id, WorkOutcome::Failed(why.clone())).await?;
        }
        Ok(self.store.delete_host(&id).await?)
    }

    /// Removes the hosts that nobody has seen for a day: they ended without a word.
    pub(super) async fn forget_hosts(&self) -> Result<(), Problem> {
        let before = self.now_ms().saturating_sub(FORGOTTEN_MS);
        for host in self.store.hosts().await?.into_iter().filter(|host| host.seen_at < before) {
            tracing::info!(host = host.id, name = host.name, "it was not seen for a day and is forgotten");
            match self.leave(&host.id).await {
                Err(problem) if problem.kind == Kind::NotFound => {} // another server was first
                other => other?,
            }
        }
        Ok(())
    }

    /// The agents that hosts can run.
    ///
    /// # Errors
    /// The store cannot be used.
    pub async fn agents(&self) -> Result<Vec<AgentView>, Problem> {
        let now = self.now_ms();
        let mut views = Vec::new();
        for host in self.store.hosts().await? {
            let online = host.is_alive(now);
            for agent in host.agents {
                views.push(AgentView {
                    agent: shown(agent),
                    host: host.id.clone(),
                    host_name: host.name.clone(),
                    online,
                    seen_at: moment(host.seen_at),
                });
            }
        }
        // Several hosts may run an agent of one name: those that are there come first, the latest before the others.
        views.sort_by(|a, b| {
            let newest = b.online.cmp(&a.online).then(b.seen_at.cmp(&a.seen_at));
            a.agent.name.cmp(&b.agent.name).then(newest)
        });
        Ok(views)
    }

    /// Whether a host is there.
    pub(super) async fn is_there(&self, host: &str) -> Result<bool, Problem> {
        let now = self.now_ms();
        Ok(self.store.hosts().await?.iter().any(|known| known.id == host && known.is_alive(now)))
    }

    /// The hosts that run an agent of this name: those that are there come first, the latest before the others.
    pub(super) async fn players_of(&self, agent: &str) -> Result<Vec<Player>, Problem> {
        let now = self.now_ms();
        let mut hosts = self.store.hosts().await?;
        hosts.sort_by_key(|host| std::cmp::Reverse((host.is_alive(now), host.seen_at)));
        let players = hosts.into_iter().filter_map(|host| {
            let online = host.is_alive(now);
            let Host { id, agents, .. } = host;
            let about = agents.into_iter().find(|known| known.name == agent)?;
            Some(Player { host: id, about, online })
        });
        Ok(players.collect())
    }

    /// Nobody here plays an agent of this name: whoever asks it something would wait for ever.
    pub(super) async fn no_host(&self, agent: &str) -> Result<Problem, Problem> {
        let mut known: Vec<String> = self.agents().await?.into_iter().map(|known| known.agent.name).collect();
        known.dedup();
        let known = match known.as_slice() {
            [] => "no host is here".to_owned(),
            names => format!("those that are here play {}", names.join(", ")),
        };
        let detail = format!(
            "no host plays an agent called `{agent}`: {known}. Start one (`rehearsal host PATH`), or leave `query` out when \
             a program of your own plays the agent: it tells what its user says"
        );
        Ok(Problem::conflict(Kind::NoHost, detail))
    }

    /// Waits for something that a host is to do, at most so long.
    ///
    /// # Errors
    /// The host is not registered.
    pub async fn await_work(&self, host: &str, wait: Duration) -> Result<Option<WorkView>, Problem> {
        let id = ids::uuid4("host id", host)?;
        if !self.store.touch_host(&id, self.now_ms()).await? {
            let detail = format!("host `{id}` is not registered; PUT /v1/hosts/{id} first");
            return Err(Problem::new(Class::NotFound, Kind::NotRegistered, detail));
        }
        let waiter = self.presence.enter(Waiting::Host(id.clone()));
        let work = self.next_work(&id, wait).await;
        waiter.answered();
        work
    }

    async fn next_work(&self, id: &str, wait: Duration) -> Result<Option<WorkView>, Problem> {
        let mut seat = self.sit(Topic::Work(id.to_owned()));
        let deadline = tokio::time::sleep(wait);
        tokio::pin!(deadline);
        loop {
            if let Some(work) = self.store.take_work(id, self.now_ms()).await? {
                return Ok(Some(WorkView {
                    id: work.id,
                    kind: work.kind.to_string(),
                    session: work.session.to_string(),
                    payload: work.payload.as_object().cloned().unwrap_or_default(),
                }));
            }
            tokio::select! {
                () = seat.told() => {}
                () = &mut deadline => return Ok(None),
                () = self.closed() => return Ok(None),
            }
        }
    }

    /// A host says what came of its work.
    ///
    /// # Errors
    /// There is no such work of this host.
    pub async fn finish_work(&self, host: &str, work: &str, outcome: WorkOutcome) -> Result<(), Problem> {
        let host = ids::uuid4("host id", host)?;
        let work_id = ids::uuid4("work id", work)?;
        let work = self.store.work(&work_id).await?.filter(|work| work.host == host);
        let work = work.ok_or_else(|| Problem::not_found("work", &work_id))?;
        // A host that did not hear from us says it again.
        if work.kind == WorkKind::Run
            && work.outcome.is_none()
            && let WorkOutcome::Failed(why) = &outcome
        {
            self.run_failed(&work, why).await?;
        }
        Ok(self.store.finish_work(&work_id, outcome).await?)
    }

    /// A run that could not even begin is on the ledger too.
    async fn run_failed(&self, work: &Work, why: &str) -> Result<(), Problem> {
        self.change(&work.session, |pen| {
            // One that ended meanwhile has nothing left open. So has a run that gave its answer before its host could say
            // that the work is done.
            let is_answered = !is_running(pen.ledger()) && final_output(pen.ledger()).is_some();
            if pen.record().status == SessionStatus::Active && !is_answered {
                fail_run(pen, "HostError", why)
            } else {
                Ok(())
            }
        })
        .await
    }

    /// Asks the host of a session to cancel a running tool. Where that host is gone, the call ends here.
    ///
    /// # Errors
    /// The call is not running, or no host plays the session.
    pub async fn cancel_call(&self, session: &SessionId, call: &str) -> Result<(), Problem> {
        let call_id: CallId = call.into();
        let record = self.record(session).await?;
        let is_there = match played_by(&record) {
            Some(host) => self.is_there(host).await?,
            None => false,
        };
        self.change(session, |pen| {
            pen.require_active()?;
            match pen.ledger().call(&call_id) {
                None => return Err(Problem::not_found("call", &call_id)),
                Some(view) if view.answer.is_some() => {
                    return Err(Problem::conflict(Kind::AnsweredCall, format!("call `{call_id}` has its result already")));
                }
                Some(_) => {}
            }
            let Some(host) = played_by(pen.record()).map(str::to_owned) else {
                let detail = "no host plays this session, so nobody here can cancel its tools; cancel it where the agent runs";
                return Err(Problem::conflict(Kind::NoHost, detail));
            };
            if is_there {
                pen.work(cancel_work(&host, &call_id));
                return Ok(());
            }
            let message = "cancelled by a person; the program that ran it is gone";
            close_call(pen, &call_id, "Cancelled", message)
        })
        .await
    }
}

/// Whoever plays a session and takes work for it: a host, or the program that the agent runs in.
pub(super) fn played_by(record: &SessionRecord) -> Option<&str> {
    let named = |key: &str| record.meta.get(key).and_then(Value::as_str);
    named("host").or_else(|| named(PROGRAM))
}

/// Asks a host to cancel a running tool.
pub(super) fn cancel_work(host: &str, call: &CallId) -> NewWork {
    let payload = json!({"call_id": call});
    NewWork { id: fresh(), host: host.to_owned(), kind: WorkKind::Cancel, payload }
}

/// A host that is to play is not there.
pub(super) fn host_offline(agent: &str) -> Problem {
    let detail = format!(
        "no host that plays agent `{agent}` is there, and no message is taken for it; start it again, and it goes on \
         where this one stopped"
    );
    Problem::conflict(Kind::HostOffline, detail)
}

fn kept(agent: NewAgent) -> Result<AgentRecord, Problem> {
    let name = agent.name.clone();
    match serde_json::to_value(agent) {
        Ok(Value::Object(mut about)) => {
            about.shift_remove("name");
            Ok(AgentRecord { name, about })
        }
        _ => Err(Problem::invalid(Kind::InvalidBody, format!("agent `{name}` cannot be kept"))),
    }
}

fn shown(agent: AgentRecord) -> NewAgent {
    let AgentRecord { name, about } = agent;
    let fallback = NewAgent { name: name.clone(), ..NewAgent::default() };
    let mut about = about;
    about.insert("name".to_owned(), name.into());
    rehearsal_core::json::from_value(Value::Object(about)).unwrap_or(fallback)
}
