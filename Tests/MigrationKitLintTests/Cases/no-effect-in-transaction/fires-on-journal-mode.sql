-- "cannot change into wal mode from within a transaction".
-- migration: 0001_notes
PRAGMA journal_mode = WAL;  -- expect: no-effect-in-transaction
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
