-- Run a second time, it finds its work done.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_index transaction:false
CREATE INDEX IF NOT EXISTS notes_title ON notes (title);
-- migration: 0003_compact transaction:false
VACUUM;
