-- Version 5. The same as in SQLite.

CREATE TABLE blocks (
    run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    first_case BIGINT NOT NULL,
    last_case BIGINT NOT NULL,
    oldest BIGINT NOT NULL,     -- ms; when the first of its sessions was made
    newest BIGINT NOT NULL,     -- ms; when the last of them was
    sessions BIGINT NOT NULL,   -- how many it has
    heads BYTEA NOT NULL,         -- zstd of JSON; what lists show of its cases and sessions
    results BYTEA NOT NULL,       -- zstd of JSON lines; what its cases came to
    events BYTEA NOT NULL,        -- zstd of JSON lines; the ledgers of its sessions
    CONSTRAINT blocks_number UNIQUE(run_id, number)
);
CREATE INDEX blocks_newest ON blocks(newest);
CREATE INDEX blocks_oldest ON blocks(oldest);

CREATE TABLE drafts (
    run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    case_number BIGINT NOT NULL,
    part TEXT NOT NULL,
    since BIGINT NOT NULL,      -- the number of the event before its first
    head TEXT NOT NULL,          -- JSON
    lines BYTEA NOT NULL,         -- JSON lines
    CONSTRAINT drafts_since UNIQUE(run_id, case_number, part, since)
);

CREATE INDEX runs_family ON runs(substr(id, 9));
