-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
-- example 2: keeps
-- after
INSERT INTO notes (title) VALUES ('new');
UPDATE notes SET title = 'b' WHERE id = 2;
-- then: SELECT id, title, name FROM notes
--   1|a|a
--   2|b|b
--   3|a|a
--   4|new|new
