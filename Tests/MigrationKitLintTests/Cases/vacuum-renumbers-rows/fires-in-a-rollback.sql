-- The rollback may do it, too.
-- migration: 0001_notes
CREATE TABLE notes (body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (body, content=notes);
-- migration: 0002_wal transaction:false
PRAGMA journal_mode = WAL;
-- down:
-- expect: vacuum-renumbers-rows
VACUUM;
