-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('');
-- example 1: finds
-- example 2: keeps
-- then: SELECT title FROM notes
--   a
--   untitled
--   
