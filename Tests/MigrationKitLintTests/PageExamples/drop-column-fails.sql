-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
CREATE INDEX notes_color ON notes (color);
-- rows
INSERT INTO notes (title, color) VALUES ('a', 'red'), (NULL, NULL);
-- example 1: finds
-- example 2: keeps
-- then: SELECT * FROM notes
--   1|a
--   2|NULL
