-- Version 6. The same as in SQLite.

ALTER TABLE runs ADD COLUMN progress TEXT;  -- JSON
ALTER TABLE runs ADD COLUMN wish TEXT CONSTRAINT runs_wish CHECK (wish IN ('hold', 'stop'));
