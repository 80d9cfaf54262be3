-- Version 6. How far a run is that goes on, and what somebody wants its process to do.

ALTER TABLE runs ADD COLUMN progress TEXT;  -- JSON
ALTER TABLE runs ADD COLUMN wish TEXT CONSTRAINT runs_wish CHECK (wish IN ('hold', 'stop'));
