-- The view gives the rowids of a table.
-- migration: 0001_notes
CREATE TABLE notes (title TEXT, body TEXT);
CREATE VIEW texts AS SELECT rowid AS id, title || ' ' || body AS text FROM notes;
CREATE VIRTUAL TABLE search USING fts5 (text, content='texts', content_rowid='id');
-- migration: 0002_compact transaction:false
-- expect: vacuum-renumbers-rows
VACUUM;
