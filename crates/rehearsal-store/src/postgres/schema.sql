-- Version 1. The same tables, columns and rules as in SQLite.

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL,  -- ms
    ended_at BIGINT,             -- ms
    title TEXT NOT NULL,
    status TEXT NOT NULL CONSTRAINT runs_status
        CHECK (status IN ('running', 'passed', 'failed', 'error', 'interrupted')),
    result TEXT
);
CREATE INDEX runs_started ON runs(started_at, id);

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    created_at BIGINT NOT NULL,  -- s
    description TEXT CONSTRAINT sessions_description CHECK (char_length(description) <= 500),
    status TEXT NOT NULL DEFAULT 'active' CONSTRAINT sessions_status
        CHECK (status IN ('active', 'completed', 'cancelled')),
    source TEXT NOT NULL DEFAULT 'api' CONSTRAINT sessions_source
        CHECK (source IN ('api', 'adksim', 'run', 'import')),
    agent TEXT,
    part TEXT NOT NULL DEFAULT 'main' CONSTRAINT sessions_part CHECK (part IN ('main', 'user', 'judge')),
    run_id TEXT CONSTRAINT sessions_run_kept REFERENCES runs(id) ON DELETE CASCADE,
    last_seq BIGINT NOT NULL DEFAULT 0,
    created_ms BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,  -- ms
    meta TEXT NOT NULL DEFAULT '{}',
    words TEXT NOT NULL DEFAULT ''  -- what a search looks at: id, description and agent in small letters
);
CREATE INDEX sessions_created ON sessions(created_ms, id);
CREATE INDEX sessions_run ON sessions(run_id) WHERE run_id IS NOT NULL;

CREATE TABLE events (
    event_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    timestamp BIGINT NOT NULL,  -- ms
    turn_id TEXT NOT NULL,      -- '' where an event belongs to no turn
    agent_name TEXT NOT NULL CONSTRAINT events_agent_name CHECK (char_length(agent_name) BETWEEN 1 AND 100),
    payload_type TEXT NOT NULL CONSTRAINT events_payload_type
        CHECK (payload_type IN ('request', 'response', 'other')),
    proto_blob BYTEA NOT NULL,  -- empty for events of the ledger only
    seq BIGINT NOT NULL CONSTRAINT events_seq_positive CHECK (seq > 0),
    kind TEXT NOT NULL,
    call_id TEXT,
    event TEXT NOT NULL,        -- the event's line of the ledger
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

CREATE TABLE cues (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    position BIGINT NOT NULL,
    kind TEXT NOT NULL CONSTRAINT cues_kind CHECK (kind IN ('model', 'tool', 'user')),
    agent TEXT NOT NULL,
    turn_id TEXT,
    call_id TEXT,
    prompt TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open' CONSTRAINT cues_status
        CHECK (status IN ('open', 'abandoned', 'answered', 'dismissed')),
    opened_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    answer TEXT,
    answer_key TEXT,
    answer_event TEXT,
    closed_at BIGINT,
    CONSTRAINT cues_position UNIQUE(session_id, position),
    CONSTRAINT cues_answer CHECK ((status = 'answered') = (answer IS NOT NULL)),
    CONSTRAINT cues_closed_at CHECK ((status IN ('answered', 'dismissed')) = (closed_at IS NOT NULL))
);
CREATE INDEX cues_waiting ON cues(session_id, position) WHERE status IN ('open', 'abandoned');
CREATE INDEX cues_status_seen ON cues(status, seen_at);

CREATE TABLE hosts (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    agents TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);

CREATE TABLE work (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL CONSTRAINT work_id UNIQUE,
    host_id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    taken BIGINT NOT NULL DEFAULT 0 CONSTRAINT work_taken CHECK (taken IN (0, 1)),
    outcome TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX work_waiting ON work(host_id, number) WHERE taken = 0 AND outcome IS NULL;
CREATE INDEX work_session ON work(session_id);

CREATE TABLE uploads (
    id TEXT PRIMARY KEY,
    size BIGINT NOT NULL CONSTRAINT uploads_size CHECK (size BETWEEN 0 AND 268435456),
    updated_at BIGINT NOT NULL
);

CREATE TABLE upload_chunks (
    upload_id TEXT NOT NULL REFERENCES uploads(id) ON DELETE CASCADE,
    start BIGINT NOT NULL,
    bytes BYTEA NOT NULL CONSTRAINT upload_chunks_bytes CHECK (length(bytes) BETWEEN 1 AND 4194304),
    PRIMARY KEY (upload_id, start)
);

-- The rules that look at more than one row. Each is raised under the name of a constraint, so that a broken rule is
-- recognised by its name alone.

CREATE FUNCTION sessions_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.status <> 'active' THEN
            RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'sessions_begin_active',
                MESSAGE = 'sessions_begin_active';
        END IF;
        RETURN NEW;
    END IF;
    IF OLD.status <> 'active' THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'sessions_status_once',
            MESSAGE = 'sessions_status_once';
    END IF;
    IF NEW.status = 'completed'
        AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.id AND (kind = 'final_response'
            OR (kind = 'agent_ended' AND NEW.source IN ('run', 'import')))) THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'sessions_no_final_response',
            MESSAGE = 'sessions_no_final_response';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER sessions_rules BEFORE INSERT OR UPDATE OF status ON sessions
    FOR EACH ROW EXECUTE FUNCTION sessions_rules();

CREATE FUNCTION events_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    broken TEXT;
    session_status TEXT;
    session_source TEXT;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'events_immutable',
            MESSAGE = 'events_immutable';
    END IF;
    SELECT status, source INTO session_status, session_source FROM sessions WHERE id = NEW.session_id;
    IF NEW.seq > 1 AND NOT EXISTS (
        SELECT 1 FROM events WHERE session_id = NEW.session_id AND seq = NEW.seq - 1) THEN
        broken := 'events_gap';
    ELSIF NEW.kind <> 'note' AND session_status <> 'active' THEN
        broken := 'events_after_end';
    ELSIF session_source IN ('api', 'adksim')
        AND NEW.kind NOT IN ('session_started', 'note', 'agent_started', 'state_change', 'user_message', 'error',
            'session_ended')
        AND NOT EXISTS (SELECT 1 FROM events WHERE session_id = NEW.session_id AND kind = 'user_message') THEN
        broken := 'events_before_query';
    ELSIF NEW.kind = 'model_response' AND NEW.turn_id <> '' AND session_source IN ('api', 'adksim')
        AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE session_id = NEW.session_id AND turn_id = NEW.turn_id AND kind = 'model_request') THEN
        broken := 'events_unknown_turn';
    ELSIF NEW.kind = 'tool_result' AND NOT EXISTS (
        SELECT 1 FROM events
        WHERE session_id = NEW.session_id AND call_id = NEW.call_id AND kind = 'tool_call') THEN
        broken := 'events_unknown_call';
    END IF;
    IF broken IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = broken, MESSAGE = broken;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER events_rules BEFORE INSERT OR UPDATE ON events FOR EACH ROW EXECUTE FUNCTION events_rules();

CREATE FUNCTION cues_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF OLD.status IN ('answered', 'dismissed') THEN
            RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'cues_closed', MESSAGE = 'cues_closed';
        END IF;
    ELSIF (SELECT status FROM sessions WHERE id = NEW.session_id) <> 'active' THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'cues_after_end',
            MESSAGE = 'cues_after_end';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER cues_rules BEFORE INSERT OR UPDATE OF status ON cues FOR EACH ROW EXECUTE FUNCTION cues_rules();
