-- Outside of a transaction all of it takes effect.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_wal transaction:false
PRAGMA journal_mode = WAL;
-- migration: 0003_compact transaction:false
PRAGMA auto_vacuum = FULL;
PRAGMA page_size = 8192;
VACUUM;
