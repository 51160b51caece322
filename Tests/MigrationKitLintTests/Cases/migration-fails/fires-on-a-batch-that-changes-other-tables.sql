-- In batches, foreign keys are on, and the other table isn't named.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_tags
CREATE TABLE tags (
    id INTEGER PRIMARY KEY,
    note INTEGER REFERENCES notes (id) ON DELETE CASCADE
);
CREATE INDEX tags_note ON tags (note);
-- migration: 0003_clean
-- migrate:batch
DELETE FROM notes WHERE state = 'gone';  -- expect: migration-fails
