-- SQLite ignores them without an error: two wait for a VACUUM, and the third for a new file.
-- migration: 0001_notes
PRAGMA encoding = 'UTF-16';  -- expect: no-effect-in-transaction
PRAGMA page_size = 8192;  -- expect: no-effect-in-transaction
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_vacuum
PRAGMA main.auto_vacuum = INCREMENTAL;  -- expect: no-effect-in-transaction
PRAGMA auto_vacuum = NONE;  -- expect: no-effect-in-transaction note
