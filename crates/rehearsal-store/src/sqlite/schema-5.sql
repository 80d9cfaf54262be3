-- Version 5. Cases that nobody plays along with: those that ended by the block, those that go on as drafts.

CREATE TABLE blocks (
    run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    first_case INTEGER NOT NULL,
    last_case INTEGER NOT NULL,
    oldest INTEGER NOT NULL,     -- ms; when the first of its sessions was made
    newest INTEGER NOT NULL,     -- ms; when the last of them was
    sessions INTEGER NOT NULL,   -- how many it has
    heads BLOB NOT NULL,         -- zstd of JSON; what lists show of its cases and sessions
    results BLOB NOT NULL,       -- zstd of JSON lines; what its cases came to
    events BLOB NOT NULL,        -- zstd of JSON lines; the ledgers of its sessions
    CONSTRAINT blocks_number UNIQUE(run_id, number)
);
CREATE INDEX blocks_newest ON blocks(newest);
CREATE INDEX blocks_oldest ON blocks(oldest);

CREATE TABLE drafts (
    run_id TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    case_number INTEGER NOT NULL,
    part TEXT NOT NULL,
    since INTEGER NOT NULL,      -- the number of the event before its first
    head TEXT NOT NULL,          -- JSON
    lines BLOB NOT NULL,         -- JSON lines
    CONSTRAINT drafts_since UNIQUE(run_id, case_number, part, since)
);

CREATE INDEX runs_family ON runs(substr(id, 9));
