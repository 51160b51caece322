-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a'), ('');
-- example 1: finds
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT id, quote(title) FROM notes
--   1|'a'
--   2|''
--   3|'a'
--   4|''
