-- The rowid is a column, and stays.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE tags (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5 (body, content=notes, content_rowid=id);
CREATE VIRTUAL TABLE own USING fts5 (body);
-- migration: 0002_compact transaction:false
VACUUM;
