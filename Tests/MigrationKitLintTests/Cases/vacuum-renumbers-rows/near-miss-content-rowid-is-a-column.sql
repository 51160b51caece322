-- The index finds the rows by a column of theirs.
-- migration: 0001_notes
CREATE TABLE notes (number INTEGER NOT NULL UNIQUE, body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (body, content=notes, content_rowid=number);
-- migration: 0002_compact transaction:false
-- migrationkit:allow vacuum-renumbers-rows nothing stores the rowids
VACUUM;
