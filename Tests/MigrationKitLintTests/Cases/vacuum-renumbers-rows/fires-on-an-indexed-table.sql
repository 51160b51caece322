-- SQLite keeps these rowids today, and doesn't promise it.
-- migration: 0001_notes
CREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (body, content=notes, content_rowid=rowid);
-- migration: 0002_compact transaction:false
-- expect: vacuum-renumbers-rows warning
VACUUM;
