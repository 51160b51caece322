-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL);
-- example 1: finds
-- example 2: keeps
-- then: SELECT title, color FROM notes
--   a|NULL
--   NULL|NULL
-- taken back: SELECT * FROM notes
--   1|a
--   2|NULL
