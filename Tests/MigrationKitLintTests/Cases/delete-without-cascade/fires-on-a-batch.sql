-- In batches, foreign keys are on: the rows that refer to the note are in the way.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_tags
-- expect in migration: breaks-installed-version
CREATE TABLE tags (id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes (id));
CREATE INDEX tags_note ON tags (note);
-- migration: 0003_clean
-- migrate:batch
DELETE FROM notes WHERE state = 'gone';  -- expect: delete-without-cascade
