-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
-- example 2: keeps
-- then: SELECT id, title, length(created), slug FROM notes
--   1|a|19|NULL
--   2|NULL|19|NULL
--   3|a|19|NULL
