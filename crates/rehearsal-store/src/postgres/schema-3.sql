-- Version 3. The same as in SQLite.

ALTER TABLE runs ADD COLUMN about TEXT;     -- JSON; its name, commit, branch, model
ALTER TABLE runs ADD COLUMN words TEXT;     -- in small letters
UPDATE runs SET words = lower(title || chr(31) || id);
