//! Stores to try, and short words for what is written to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use rehearsal_core::{
    CallId, Content, EndReason, Event, EventBody, Ids, LEDGER_VERSION, ModelResponse, ModelSetup,
    RequestRecord, SessionId, SessionPart, SessionStarted, Timestamp, ToolOutcome, ToolResult, TurnId,
};
use rehearsal_store::{
    CueChange, CueId, CueKind, NewCue, NewEvent, NewSession, Payload, SessionSource, StoreError, StoreRef,
    Write, open,
};
use rehearsal_testkit::postgres::Database;
use serde_json::{Value, json};

/// Runs each behaviour on every kind of store.
macro_rules! behaviours {
    ($($(#[$doc:meta])* async fn $name:ident($home:ident: &Home) $body:block)+) => {
        $($(#[$doc])* async fn $name($home: &$crate::support::Home) $body)+

        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(&$crate::support::Home::sqlite().await).await;
            })+
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(&$crate::support::Home::postgres().await).await;
            })+
        }
    };
}

/// The moment at which everything happens, in milliseconds.
pub(crate) const NOW: i64 = 1_767_268_800_000;

/// A store, and where it is.
pub(crate) struct Home {
    pub(crate) store: StoreRef,
    place: String,
    _folder: Option<tempfile::TempDir>,
    pub(crate) database: Option<Database>,
}

impl Home {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("deep/er/store.db").display().to_string();
        Self { store: open(&place).await.unwrap(), place, _folder: Some(folder), database: None }
    }

    pub(crate) async fn postgres() -> Self {
        let database = Database::new();
        let place = database.address().to_owned();
        Self { store: open(&place).await.unwrap(), place, _folder: None, database: Some(database) }
    }

    /// The same store, opened as another process would.
    pub(crate) async fn again(&self) -> StoreRef {
        open(&self.place).await.unwrap()
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Runs SQL past the store, as another program could.
    pub(crate) fn raw(&self, sql: &str) -> Result<(), String> {
        match &self.database {
            Some(database) => database.try_sql(sql).map(drop),
            None => {
                let connection = rusqlite::Connection::open(&self.place).unwrap();
                connection.execute(sql, []).map(drop).map_err(|error| error.to_string())
            }
        }
    }

    /// A new session of the API with the user's first words.
    pub(crate) async fn session(&self) -> SessionId {
        self.session_from(SessionSource::Api).await
    }

    pub(crate) async fn session_from(&self, source: SessionSource) -> SessionId {
        let session = fresh();
        let mut write = create(&session, source);
        write.events = vec![event(1, started()), event(2, said("hi"))];
        self.store.write(write).await.unwrap();
        session
    }

    /// Writes one more event.
    pub(crate) async fn append(
        &self,
        session: &SessionId,
        body: EventBody,
        turn: Option<&str>,
    ) -> Result<(), StoreError> {
        let last = self.store.session(session).await.unwrap().unwrap().last_seq;
        self.store.write(append(session, last, body, turn)).await
    }

    /// Writes a cue.
    pub(crate) async fn ask(&self, session: &SessionId) -> CueId {
        let id = CueId::new(id());
        let mut write = Write::new(session.clone(), NOW, 0);
        write.cues = vec![CueChange::Open(cue(&id))];
        self.store.write(write).await.unwrap();
        id
    }
}

/// An id that nothing else in this process has.
pub(crate) fn id() -> String {
    fresh().to_string()
}

pub(crate) fn fresh() -> SessionId {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    Ids::seeded(u64::from(std::process::id())).session("test", NUMBER.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn new_session(source: SessionSource) -> NewSession {
    NewSession {
        created_at: NOW,
        description: None,
        source,
        agent: None,
        part: SessionPart::Main,
        run: None,
        meta: json!({}),
    }
}

pub(crate) fn create(session: &SessionId, source: SessionSource) -> Write {
    let mut write = Write::new(session.clone(), NOW, 0);
    write.create = Some(new_session(source));
    write
}

pub(crate) fn append(session: &SessionId, last: u64, body: EventBody, turn: Option<&str>) -> Write {
    let mut new = event(last + 1, body);
    Arc::make_mut(&mut new.event).turn = turn.map(TurnId::from);
    let mut write = Write::new(session.clone(), NOW, last);
    write.events = vec![new];
    write
}

pub(crate) fn event(seq: u64, body: EventBody) -> NewEvent {
    let at = Timestamp::from_millisecond(NOW + i64::try_from(seq).unwrap()).unwrap();
    let event = Event {
        seq,
        session: "s-1".into(),
        at,
        author: "agent".into(),
        invocation: None,
        turn: None,
        decision: None,
        body,
    };
    NewEvent {
        event_id: id(),
        payload: Payload::Other,
        event: Arc::new(event),
        blob: Bytes::new(),
        line: None,
    }
}

pub(crate) fn cue(id: &CueId) -> NewCue {
    NewCue {
        id: id.clone(),
        kind: CueKind::Model,
        agent: "agent".to_owned(),
        turn: Some(TurnId::from(id.as_str())),
        call: None,
        prompt: Value::Null,
    }
}

pub(crate) fn started() -> EventBody {
    let started =
        SessionStarted { version: LEDGER_VERSION, agent: "agent".into(), ..SessionStarted::default() };
    EventBody::SessionStarted(started)
}

pub(crate) fn said(text: &str) -> EventBody {
    EventBody::UserMessage { content: Content::user(text).into() }
}

pub(crate) fn request() -> EventBody {
    EventBody::ModelRequest(RequestRecord {
        setup: Some(ModelSetup::default().into()),
        ..RequestRecord::default()
    })
}

pub(crate) fn response() -> EventBody {
    EventBody::ModelResponse(ModelResponse::new(Content::model("yes")))
}

pub(crate) fn call(id: &str) -> EventBody {
    EventBody::ToolCall { call: CallId::from(id), tool: "ask".into(), args: Arc::default() }
}

pub(crate) fn result(id: &str) -> EventBody {
    EventBody::ToolResult(ToolResult {
        call: CallId::from(id),
        tool: "ask".into(),
        outcome: ToolOutcome::Output(json!(1)),
        changes: Vec::new(),
        main_changes: None,
    })
}

pub(crate) fn final_response() -> EventBody {
    EventBody::FinalResponse { output: json!("done") }
}

pub(crate) fn ended() -> EventBody {
    EventBody::SessionEnded { reason: EndReason::Completed }
}

pub(crate) fn note() -> EventBody {
    EventBody::Note { name: "seen".into(), data: json!({}) }
}

#[track_caller]
pub(crate) fn assert_refused(result: Result<(), StoreError>, words: &str) {
    match result {
        Err(StoreError::Refused(why)) => assert!(why.contains(words), "`{why}` does not say `{words}`"),
        other => panic!("refused with `{words}` was expected, not {other:?}"),
    }
}
