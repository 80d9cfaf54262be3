//! What is kept.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use rehearsal_core::{CallId, Event, EventBody, RunProgress, SessionId, SessionPart, Shard, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::lease::RUN_SILENT_AFTER;
use crate::word::Word as _;

/// How a session stands. It goes from active to one of the others, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It goes on.
    Active,
    /// It ended with a final response.
    Completed,
    /// It ended without one.
    Cancelled,
}

/// Where a session came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionSource {
    /// Made over HTTP, recorded by the Python plugin or another program.
    Api,
    /// Made over gRPC by the published plugin.
    Adksim,
    /// A case of a run.
    Run,
    /// Read from a file.
    Import,
}

/// A session as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionRecord {
    /// Its id in the store, a UUIDv4.
    pub id: SessionId,
    /// When it was made, in milliseconds since 1970.
    pub created_at: i64,
    /// A label for people; at most 500 characters.
    pub description: Option<String>,
    /// How it stands.
    pub status: SessionStatus,
    /// Where it came from.
    pub source: SessionSource,
    /// The agent, once one is chosen.
    pub agent: Option<String>,
    /// The part it plays in a case.
    pub part: SessionPart,
    /// The run it belongs to.
    pub run: Option<String>,
    /// The number of its last event.
    pub last_seq: u64,
    /// When its last event was written, in milliseconds since 1970.
    pub updated_at: i64,
    /// What its maker keeps with it (which host runs it, …); an object.
    pub meta: Value,
}

impl SessionRecord {
    /// Where the meta of a session has the failure of its last run: `type`, `message`, `at` and `seq`.
    pub const FAILURE: &str = "failure";

    /// Why its last run failed, while that is how it stands: nobody has spoken since, nobody has ended it.
    pub fn failure(&self) -> Option<&Value> {
        let ended_by_itself = matches!(self.source, SessionSource::Run | SessionSource::Import);
        let stands = match self.status {
            SessionStatus::Active => true,
            SessionStatus::Cancelled => ended_by_itself,
            SessionStatus::Completed => false,
        };
        self.meta.get(Self::FAILURE).filter(|_| stands)
    }

    /// What an event says of a failure that ends its session, as meta has it.
    pub fn failure_of(event: &Event) -> Option<Value> {
        let EventBody::Error(failure) = &event.body else { return None };
        let (kind, message) = (&failure.kind, &failure.message);
        Some(json!({"type": kind, "message": message, "at": event.at, "seq": event.seq}))
    }
}

/// A session to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSession {
    /// When, in milliseconds since 1970.
    pub created_at: i64,
    /// A label for people. What is longer than 500 characters is cut.
    pub description: Option<String>,
    /// Where it came from.
    pub source: SessionSource,
    /// The agent, if it is chosen already.
    pub agent: Option<String>,
    /// The part it plays in a case.
    pub part: SessionPart,
    /// The run it belongs to.
    pub run: Option<String>,
    /// What its maker keeps with it; an object.
    pub meta: Value,
}

/// What kind of payload an event has on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// A model request.
    Request,
    /// The response to one.
    Response,
    /// Neither: the event is of the ledger only, and its blob is empty.
    Other,
}

/// An event to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// Its id, a UUIDv4 that nothing else has.
    pub event_id: String,
    /// What it is on the wire.
    pub payload: Payload,
    /// The event, with its number.
    pub event: Arc<Event>,
    /// The protobuf of its payload exactly as it arrived over the published protocol, or as an answer was sent there;
    /// empty for what came another way, of which the event is all there is.
    pub blob: Bytes,
    /// The event's line as it is kept, where `event` has only the beginning of a long output.
    pub line: Option<Arc<str>>,
}

/// An event that is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Its id.
    pub event_id: String,
    /// When it was kept, in milliseconds since 1970: the event's own time.
    pub timestamp: i64,
    /// What it is on the wire.
    pub payload: Payload,
    /// The event.
    pub event: Arc<Event>,
    /// Whether `event` has only the beginning of a long output.
    pub is_cut: bool,
    /// The protobuf of its payload; empty for what came another way than over the published protocol. Earlier versions
    /// kept one for requests and responses over HTTP too.
    pub blob: Bytes,
}

/// Names a cue: the id of the model turn, of the call, or of the place where a user is asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CueId(Arc<str>);

impl CueId {
    /// Takes any text as an id.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for CueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &self.0)
    }
}

/// What a person is asked to play.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CueKind {
    /// The model: what it answers.
    Model,
    /// A tool: what it gives.
    Tool,
    /// The user: what they say next.
    User,
}

/// How a cue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CueStatus {
    /// Somebody waits for its answer.
    Open,
    /// Whoever waited has gone. It can still be answered, in case they come back, or be dismissed.
    Abandoned,
    /// It was answered.
    Answered,
    /// A person put it away unanswered, or its session ended.
    Dismissed,
}

/// Something a person is asked to decide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cue {
    /// Its id: unique in the store.
    pub id: CueId,
    /// The session.
    pub session: SessionId,
    /// Its place among the session's cues: they are answered in this order.
    pub position: u64,
    /// What is asked for.
    pub kind: CueKind,
    /// The agent that waits.
    pub agent: String,
    /// The model turn, for cues of the model.
    pub turn: Option<TurnId>,
    /// The call, for cues of a tool.
    pub call: Option<CallId>,
    /// What a person needs to decide. For cues of wire sessions it is on the ledger, under the turn, and this is null.
    pub prompt: Value,
    /// How it stands.
    pub status: CueStatus,
    /// When it was opened, in milliseconds since 1970.
    pub opened_at: i64,
    /// When somebody was last seen waiting for it.
    pub seen_at: i64,
    /// The answer, once it is answered.
    pub answer: Option<Value>,
    /// The idempotency key that came with the answer.
    pub answer_key: Option<String>,
    /// The event that holds the answer, where answering wrote one.
    pub answer_event: Option<String>,
    /// When it was answered or dismissed.
    pub closed_at: Option<i64>,
}

/// A cue to be opened. Its position follows the session's last.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCue {
    /// Its id.
    pub id: CueId,
    /// What is asked for.
    pub kind: CueKind,
    /// The agent that waits.
    pub agent: String,
    /// The model turn, for cues of the model.
    pub turn: Option<TurnId>,
    /// The call, for cues of a tool.
    pub call: Option<CallId>,
    /// What a person needs to decide, unless it is on the ledger.
    pub prompt: Value,
}

/// What a write does to a cue.
#[derive(Clone, Debug, PartialEq)]
pub enum CueChange {
    /// Opens one.
    Open(NewCue),
    /// Answers one that is open or abandoned; refused when it is neither.
    Answer {
        /// Which.
        cue: CueId,
        /// The answer.
        answer: Value,
        /// The idempotency key that came with it.
        key: Option<String>,
        /// The event that holds it, where this write has one.
        event: Option<String>,
    },
    /// Puts one away that is open or abandoned; refused when it is neither.
    Dismiss {
        /// Which.
        cue: CueId,
    },
    /// Puts away all of the session's that are open or abandoned.
    DismissAll,
}

/// Something a host is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Its id.
    pub id: String,
    /// The host that is to do it.
    pub host: String,
    /// The session it is about.
    pub session: SessionId,
    /// What is to be done.
    pub kind: WorkKind,
    /// What is needed to do it.
    pub payload: Value,
    /// Whether a host has taken it.
    pub taken: bool,
    /// What came of it, once it is done.
    pub outcome: Option<WorkOutcome>,
    /// When it was given, in milliseconds since 1970.
    pub created_at: i64,
}

/// What a host is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Run an agent with a message.
    Run,
    /// Cancel a call.
    Cancel,
    /// Write a golden trace.
    Export,
}

/// The word that stands for it everywhere.
impl fmt::Display for WorkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What came of a piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkOutcome {
    /// It was done, with this result.
    Done(Value),
    /// It failed.
    Failed(String),
}

/// A piece of work to be given.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWork {
    /// Its id, a UUIDv4.
    pub id: String,
    /// The host that is to do it.
    pub host: String,
    /// What is to be done.
    pub kind: WorkKind,
    /// What is needed to do it.
    pub payload: Value,
}

/// One change of a session: all of it or nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// The session.
    pub session: SessionId,
    /// Makes the session first; refused with [`Exists`](crate::StoreError::Exists) when it is there.
    pub create: Option<NewSession>,
    /// The moment, in milliseconds since 1970.
    pub at: i64,
    /// The number of the session's last event, as the writer knows it: 0 for a new one. When it is another,
    /// the write is refused with [`Moved`](crate::StoreError::Moved). Ignored when there are no events.
    pub after: u64,
    /// The events, numbered from `after + 1` without a gap.
    pub events: Vec<NewEvent>,
    /// What happens to cues, in order.
    pub cues: Vec<CueChange>,
    /// The session's new status.
    pub status: Option<SessionStatus>,
    /// The session's agent, when it is chosen now.
    pub agent: Option<String>,
    /// What its maker keeps with it, when that changes: replaces the object.
    pub meta: Option<Value>,
    /// What hosts are to do now.
    pub work: Vec<NewWork>,
    /// What the session is called from now on, if it has no description.
    pub describe: Option<String>,
}

impl Write {
    /// A write that does nothing yet.
    pub fn new(session: SessionId, at: i64, after: u64) -> Self {
        Self {
            session,
            create: None,
            at,
            after,
            events: Vec::new(),
            cues: Vec::new(),
            status: None,
            agent: None,
            meta: None,
            work: Vec::new(),
            describe: None,
        }
    }
}

/// Which sessions to list: all that fit, newest first.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// At most so many (1 to 1000).
    pub limit: u32,
    /// Goes on after the page that gave this token.
    pub page_token: Option<String>,
    /// Only those that stand like one of these; however they stand, without any.
    pub statuses: Vec<SessionStatus>,
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those of this run.
    pub run: Option<String>,
    /// Only those that came from here.
    pub source: Option<SessionSource>,
    /// Only those whose id, description or agent contains this, in whatever case.
    pub search: Option<String>,
    /// Oldest first instead.
    pub oldest_first: bool,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Asks for the next one, if there is one.
    pub next: Option<String>,
}

/// Which cues to list: by session's age, then by position.
#[derive(Clone, Debug, Default)]
pub struct CueQuery {
    /// Only those of this session.
    pub session: Option<SessionId>,
    /// Only those that stand like one of these; all when empty.
    pub statuses: Vec<CueStatus>,
    /// At most so many.
    pub limit: u32,
}

/// An agent that a host can run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Its name.
    pub name: String,
    /// What else is known of it (instruction, tools, schemas); an object.
    #[serde(flatten)]
    pub about: serde_json::Map<String, Value>,
}

/// A process that runs agents for the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Its id, a UUIDv4.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// The agents it can run.
    pub agents: Vec<AgentRecord>,
    /// When it was last seen, in milliseconds since 1970.
    pub seen_at: i64,
}

impl Host {
    /// For so long a host counts as there after it was seen, in milliseconds. Whoever asks for work is seen, and may wait
    /// a minute for it.
    pub const ALIVE_MS: i64 = 90_000;
    /// Where the meta of a session names the host that plays it by itself.
    pub const PROGRAM: &str = "program";

    /// Whether the program that plays a session by itself is gone, of those that are known; nothing where none does, or the
    /// session has ended.
    pub fn is_program_gone(hosts: &[Self], session: &SessionRecord, now: i64) -> Option<bool> {
        let program = session.meta.get(Self::PROGRAM)?.as_str()?;
        let is_there = || hosts.iter().any(|host| host.id == program && host.is_alive(now));
        (session.status == SessionStatus::Active).then(|| !is_there())
    }

    /// Whether it is there.
    pub fn is_alive(&self, now: i64) -> bool {
        now.saturating_sub(self.seen_at) < Self::ALIVE_MS
    }
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Its process goes on.
    Running,
    /// All of its cases passed.
    Passed,
    /// One of its cases did not.
    Failed,
    /// Something went wrong, in a case or in keeping them.
    Error,
    /// Somebody ended it, or its process was not seen for a while.
    Interrupted,
}

/// The word that stands for it everywhere.
impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// A run of a suite, with its results once it has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Its id, a UUIDv4.
    pub id: String,
    /// When it began, in milliseconds since 1970.
    pub started_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// What was run, in words for people.
    pub title: String,
    /// How it stands.
    pub status: RunStatus,
    /// What tells it from other runs of the same.
    pub about: RunAbout,
    /// What it came to: a [`RunResult`](rehearsal_core::RunResult). What earlier versions wrote is read in that form. In
    /// lists, only its `summary` and `duration_ms`.
    pub result: Option<Value>,
    /// What its process and others tell each other while it goes on.
    pub life: RunLife,
}

/// What the process of a run and others tell each other while it goes on. Only when it was seen is kept with the run
/// itself; a run that is kept anew has no wish.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLife {
    /// When its process was last seen, in milliseconds since 1970.
    pub seen_at: Option<i64>,
    /// How far it is, or how far it was when its process was last heard.
    pub progress: Option<RunProgress>,
    /// What somebody wants its process to do.
    pub wish: Option<RunWish>,
}

impl RunLife {
    /// Whether its process was not seen for so long that nobody need wait for it.
    pub fn is_silent(&self, now: i64) -> bool {
        let silent = i64::try_from(RUN_SILENT_AFTER.as_millis()).unwrap_or(i64::MAX);
        self.seen_at.is_some_and(|seen| now.saturating_sub(seen) > silent)
    }
}

/// What somebody wants the process of a run to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunWish {
    /// To start no further case until this is taken back.
    Hold,
    /// To end, as whoever started it can end it. This is not taken back.
    Stop,
}

/// The word that stands for it everywhere.
impl fmt::Display for RunWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What tells a run from others of the same suite. Whoever starts it finds this out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunAbout {
    /// What somebody called it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The commit of the checkout in which it was started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The branch of that checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The models that play its agents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Box<Recipe>>,
    /// The process that runs it, or did at last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<RunProcess>,
}

/// A process on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunProcess {
    /// What tells the machine, since it was started, from others; nothing where that cannot be known.
    pub machine: String,
    /// The number of the process there.
    pub id: u32,
    /// What tells it from another with this number: when it was started, as the machine counts.
    pub started: u64,
}

/// What a run was made from: enough to go on with it, and to tell whether another is a part of the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recipe {
    /// The words of the command line that began it, without the program.
    pub arguments: Vec<String>,
    /// The folder in which it was started.
    pub folder: String,
    /// Stands for all that is run: the cases, their files, how often and with which seeds. Equal where the same would be
    /// run, on this machine or another.
    pub digest: String,
    /// What stands for each file of cases with all that it names, by the name it was given, to say which has changed; no
    /// more than a few hundred of them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// How many cases it has, all parts together.
    pub cases: u64,
    /// How often each is run.
    pub repeat: u32,
    /// Where all chance comes from.
    pub seed: u64,
    /// Which part of it this is, where others run the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Stands for the plan that says which part has which case; nothing where their hash says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// What the machine is called that ran this part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Which try of this part it is, from 1, where somebody counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

impl RunRecord {
    /// What a search looks through: all that names it, in small letters.
    pub(crate) fn words(&self) -> String {
        let RunAbout { name, commit, branch, model, recipe: _, process: _ } = &self.about;
        let about = [name, commit, branch, model].into_iter().flatten().map(String::as_str);
        let words: Vec<&str> = [self.title.as_str(), self.id.as_str()].into_iter().chain(about).collect();
        words.join("\u{1f}").to_lowercase()
    }
}

/// Which runs to list: newest first.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Those with this text in their title, name, commit, branch, model or id, whether in capitals or not.
    pub search: Option<String>,
    /// At most so many.
    pub limit: u32,
    /// Goes on after the page that gave this token.
    pub page_token: Option<String>,
}

/// Something changed; whoever waits for it looks again. Telling may be late or doubled, never wrong, and when the
/// receiver lags it must look at everything it waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A session has new events, cues or a new status.
    Session(SessionId),
    /// There is work for a host, or work of it was done.
    Work(String),
    /// A run went on, with sessions of its own, or somebody wants something of it.
    Run(String),
    /// Anything may have changed.
    Everything,
}
