-- tables
CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
-- rows
INSERT INTO note (body) VALUES ('bread'), ('milk');
-- example 1: finds
-- then: SELECT count(*) FROM note_search WHERE note_search MATCH 'milk'
--   0
-- The search finds no note.
-- example 2: keeps
-- then: SELECT rowid, body FROM note_search WHERE note_search MATCH 'milk'
--   2|milk
