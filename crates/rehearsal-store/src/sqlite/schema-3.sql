-- Version 3. What tells runs of the same suite apart, and what a search for them looks through.

ALTER TABLE runs ADD COLUMN about TEXT;     -- JSON; its name, commit, branch, model
ALTER TABLE runs ADD COLUMN words TEXT;     -- in small letters
UPDATE runs SET words = lower(title || char(31) || id);
