-- Version 2. The same as in SQLite.

ALTER TABLE runs ADD COLUMN seen_at BIGINT;    -- ms; when the process of a run that goes on was last seen
ALTER TABLE work ADD COLUMN taken_at BIGINT;   -- ms; when a host was last given it
CREATE INDEX work_open ON work(host_id, number) WHERE outcome IS NULL;
CREATE INDEX cues_answer_key ON cues(session_id, answer_key) WHERE answer_key IS NOT NULL;
CREATE INDEX runs_running ON runs(seen_at) WHERE status = 'running';
