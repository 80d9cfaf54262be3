-- Version 7. The same as in SQLite.

CREATE TABLE contents (
    hash BYTEA PRIMARY KEY,       -- the first 16 bytes of its SHA-256
    bytes BYTEA NOT NULL          -- zstd
);

-- What the events of a block are compressed with, in this order.
CREATE TABLE block_contents (
    run_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    place BIGINT NOT NULL,
    hash BYTEA NOT NULL CONSTRAINT block_contents_hash REFERENCES contents(hash),
    PRIMARY KEY (run_id, number, place),
    FOREIGN KEY (run_id, number) REFERENCES blocks(run_id, number) ON DELETE CASCADE
);
CREATE INDEX block_contents_of_hash ON block_contents(hash);
