-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
-- rows
INSERT INTO notes (title, color) VALUES ('a', 'red'), (NULL, NULL), ('a', 'red');
-- example 1: finds
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', color TEXT);
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', color TEXT);
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT * FROM notes
--   1|a|red
--   2|NULL|NULL
--   3|a|red
