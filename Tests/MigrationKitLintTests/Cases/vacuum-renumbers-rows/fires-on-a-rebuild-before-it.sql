-- It is rebuilt too early.
-- migration: 0001_notes
CREATE TABLE notes (body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (body, content=notes);
-- migration: 0002_compact transaction:false
INSERT INTO search (search) VALUES (lower('REBUILD'));
-- expect: vacuum-renumbers-rows
VACUUM;
