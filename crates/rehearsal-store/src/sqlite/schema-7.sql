-- Version 7. Large things once: what blocks have in common is kept by its content.

CREATE TABLE contents (
    hash BLOB PRIMARY KEY,       -- the first 16 bytes of its SHA-256
    bytes BLOB NOT NULL          -- zstd
);

-- What the events of a block are compressed with, in this order.
CREATE TABLE block_contents (
    run_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    hash BLOB NOT NULL CONSTRAINT block_contents_hash REFERENCES contents(hash),
    PRIMARY KEY (run_id, number, place),
    FOREIGN KEY (run_id, number) REFERENCES blocks(run_id, number) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX block_contents_of_hash ON block_contents(hash);
