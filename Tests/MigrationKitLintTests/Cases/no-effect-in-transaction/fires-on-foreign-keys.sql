-- SQLite ignores it in a transaction. The foreign keys of a migration are off anyway.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_seed
PRAGMA foreign_keys = ON;  -- expect: no-effect-in-transaction
INSERT INTO notes (title) VALUES ('Welcome');
