-- Version 1. The columns of `sessions` and `events` down to `status` and `proto_blob` and the indexes `idx_*` are a
-- published layout that other tools read; what follows them is ours.

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL,  -- ms
    ended_at INTEGER,             -- ms
    title TEXT NOT NULL,
    status TEXT NOT NULL CONSTRAINT runs_status
        CHECK (status IN ('running', 'passed', 'failed', 'error', 'interrupted')),
    result TEXT
);
CREATE INDEX runs_started ON runs(started_at, id);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,  -- s
    description TEXT CONSTRAINT sessions_description CHECK (length(description) <= 500),
    status TEXT NOT NULL DEFAULT 'active' CONSTRAINT sessions_status
        CHECK (status IN ('active', 'completed', 'cancelled')),
    source TEXT NOT NULL DEFAULT 'api' CONSTRAINT sessions_source
        CHECK (source IN ('api', 'adksim', 'run', 'import')),
    agent TEXT,
    part TEXT NOT NULL DEFAULT 'main' CONSTRAINT sessions_part CHECK (part IN ('main', 'user', 'judge')),
    run_id TEXT REFERENCES runs(id) ON DELETE CASCADE,
    last_seq INTEGER NOT NULL DEFAULT 0,
    created_ms INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,  -- ms
    meta TEXT NOT NULL DEFAULT '{}',
    words TEXT NOT NULL DEFAULT ''  -- what a search looks at: id, description and agent in small letters
);
CREATE INDEX sessions_created ON sessions(created_ms, id);
CREATE INDEX sessions_run ON sessions(run_id) WHERE run_id IS NOT NULL;

CREATE TRIGGER sessions_status_once BEFORE UPDATE OF status ON sessions
WHEN OLD.status <> 'active'
BEGIN SELECT RAISE(ABORT, 'sessions_status_once'); END;

-- On the engine's ledgers an agent in a loop answers by ending its round; the loop itself may never end.
CREATE TRIGGER sessions_no_final_response BEFORE UPDATE OF status ON sessions
WHEN NEW.status = 'completed' AND OLD.status = 'active'
    AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.id AND (kind = 'final_response'
        OR (kind = 'agent_ended' AND NEW.source IN ('run', 'import'))))
BEGIN SELECT RAISE(ABORT, 'sessions_no_final_response'); END;

CREATE TRIGGER sessions_begin_active BEFORE INSERT ON sessions
WHEN NEW.status <> 'active'
BEGIN SELECT RAISE(ABORT, 'sessions_begin_active'); END;

CREATE TABLE events (
    event_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    timestamp INTEGER NOT NULL,  -- ms
    turn_id TEXT NOT NULL,       -- '' where an event belongs to no turn
    agent_name TEXT NOT NULL CONSTRAINT events_agent_name CHECK (length(agent_name) BETWEEN 1 AND 100),
    payload_type TEXT NOT NULL CONSTRAINT events_payload_type
        CHECK (payload_type IN ('request', 'response', 'other')),
    proto_blob BLOB NOT NULL,    -- empty for events of the ledger only
    seq INTEGER NOT NULL CONSTRAINT events_seq_positive CHECK (seq > 0),
    kind TEXT NOT NULL,
    call_id TEXT,
    event TEXT NOT NULL,         -- the event's line of the ledger
    UNIQUE(session_id, event_id),
    CONSTRAINT events_payload_kind CHECK (
        (payload_type <> 'request' OR kind = 'model_request')
        AND (payload_type <> 'response' OR kind = 'model_response')
    ),
    CONSTRAINT events_request_turn CHECK (kind <> 'model_request' OR turn_id <> '')
);
CREATE INDEX idx_events_session ON events(session_id, timestamp);
CREATE INDEX idx_events_turn ON events(turn_id);
CREATE UNIQUE INDEX events_seq ON events(session_id, seq);
CREATE UNIQUE INDEX events_turn_request ON events(session_id, turn_id) WHERE kind = 'model_request';
CREATE UNIQUE INDEX events_turn_response ON events(session_id, turn_id)
    WHERE kind = 'model_response' AND turn_id <> '';
CREATE UNIQUE INDEX events_call ON events(session_id, call_id) WHERE kind = 'tool_call';
CREATE UNIQUE INDEX events_call_result ON events(session_id, call_id) WHERE kind = 'tool_result';
CREATE INDEX events_query ON events(session_id) WHERE kind = 'user_message';
CREATE INDEX events_final ON events(session_id) WHERE kind = 'final_response';

CREATE TRIGGER events_gap BEFORE INSERT ON events
WHEN NEW.seq > 1 AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq - 1)
BEGIN SELECT RAISE(ABORT, 'events_gap'); END;

CREATE TRIGGER events_after_end BEFORE INSERT ON events
WHEN NEW.kind <> 'note' AND (SELECT status FROM sessions WHERE id = NEW.session_id) <> 'active'
BEGIN SELECT RAISE(ABORT, 'events_after_end'); END;

CREATE TRIGGER events_before_query BEFORE INSERT ON events
WHEN NEW.kind NOT IN ('session_started', 'note', 'agent_started', 'state_change', 'user_message', 'error', 'session_ended')
    AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND kind = 'user_message')
    AND (SELECT source FROM sessions WHERE id = NEW.session_id) IN ('api', 'adksim')
BEGIN SELECT RAISE(ABORT, 'events_before_query'); END;

-- The engine records what an agent elsewhere answered without what its model was asked, which nobody here sees.
CREATE TRIGGER events_unknown_turn BEFORE INSERT ON events
WHEN NEW.kind = 'model_response' AND NEW.turn_id <> '' AND NOT EXISTS (
    SELECT 1 FROM events WHERE session_id = NEW.session_id AND turn_id = NEW.turn_id AND kind = 'model_request')
    AND (SELECT source FROM sessions WHERE id = NEW.session_id) IN ('api', 'adksim')
BEGIN SELECT RAISE(ABORT, 'events_unknown_turn'); END;

CREATE TRIGGER events_unknown_call BEFORE INSERT ON events
WHEN NEW.kind = 'tool_result' AND NOT EXISTS (
    SELECT 1 FROM events WHERE session_id = NEW.session_id AND call_id = NEW.call_id AND kind = 'tool_call')
BEGIN SELECT RAISE(ABORT, 'events_unknown_call'); END;

CREATE TRIGGER events_immutable BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events_immutable'); END;

CREATE TABLE cues (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL CONSTRAINT cues_kind CHECK (kind IN ('model', 'tool', 'user')),
    agent TEXT NOT NULL,
    turn_id TEXT,
    call_id TEXT,
    prompt TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CONSTRAINT cues_status
        CHECK (status IN ('open', 'abandoned', 'answered', 'dismissed')),
    opened_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    answer TEXT,
    answer_key TEXT,
    answer_event TEXT,
    closed_at INTEGER,
    CONSTRAINT cues_position UNIQUE(session_id, position),
    CONSTRAINT cues_answer CHECK ((status = 'answered') = (answer IS NOT NULL)),
    CONSTRAINT cues_closed_at CHECK ((status IN ('answered', 'dismissed')) = (closed_at IS NOT NULL))
);
CREATE INDEX cues_waiting ON cues(session_id, position) WHERE status IN ('open', 'abandoned');
CREATE INDEX cues_status_seen ON cues(status, seen_at);

CREATE TRIGGER cues_closed BEFORE UPDATE OF status ON cues
WHEN OLD.status IN ('answered', 'dismissed')
BEGIN SELECT RAISE(ABORT, 'cues_closed'); END;

CREATE TRIGGER cues_after_end BEFORE INSERT ON cues
WHEN (SELECT status FROM sessions WHERE id = NEW.session_id) <> 'active'
BEGIN SELECT RAISE(ABORT, 'cues_after_end'); END;

CREATE TABLE hosts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    agents TEXT NOT NULL,
    seen_at INTEGER NOT NULL
);

CREATE TABLE work (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL CONSTRAINT work_id UNIQUE,
    host_id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0 CONSTRAINT work_taken CHECK (taken IN (0, 1)),
    outcome TEXT,
    created_at INTEGER NOT NULL
);
CREATE INDEX work_waiting ON work(host_id, number) WHERE taken = 0 AND outcome IS NULL;
CREATE INDEX work_session ON work(session_id);

CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    size INTEGER NOT NULL CONSTRAINT uploads_size CHECK (size BETWEEN 0 AND 268435456),
    updated_at INTEGER NOT NULL
);

CREATE TABLE upload_chunks (
    upload_id TEXT NOT NULL REFERENCES uploads(id) ON DELETE CASCADE,
    start INTEGER NOT NULL,
    bytes BLOB NOT NULL CONSTRAINT upload_chunks_bytes CHECK (length(bytes) BETWEEN 1 AND 4194304),
    PRIMARY KEY (upload_id, start)
);
