-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT, font TEXT, size INTEGER);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
-- example 2: keeps
-- then: SELECT * FROM notes
--   1|a
--   2|NULL
--   3|a
