-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
-- rows
INSERT INTO notes (title, color) VALUES ('a', 'red'), (NULL, NULL), ('a', 'red');
-- example 1: finds
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, color TEXT, title TEXT);
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT id, title, color FROM notes
--   1|a|red
--   2|NULL|NULL
--   3|a|red
