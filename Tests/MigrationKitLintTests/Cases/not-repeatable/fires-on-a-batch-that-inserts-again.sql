-- A second run inserts the rows once more.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_copies
CREATE TABLE copies (id INTEGER PRIMARY KEY, note INTEGER, body TEXT);
-- migration: 0003_copies
-- migrate:batch
INSERT INTO copies (note, body) SELECT id, body FROM notes WHERE size IS NOT NULL;  -- expect: not-repeatable error
