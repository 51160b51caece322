-- These take effect in a transaction, or only read.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_version
-- expect in migration: breaks-installed-version
PRAGMA user_version = 2;
PRAGMA foreign_key_check;
PRAGMA foreign_keys;
PRAGMA journal_mode;
PRAGMA page_size;
PRAGMA auto_vacuum;
PRAGMA encoding;
