-- tables
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE notes (id INTEGER PRIMARY KEY, list_id INTEGER, title TEXT);
-- rows
INSERT INTO lists VALUES (1);
INSERT INTO notes (list_id, title) VALUES (1, 'a'), (NULL, NULL), (7, 'a');
-- example 1: finds
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, list_id INTEGER, title TEXT DEFAULT '');
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, list_id INTEGER, title TEXT DEFAULT '');
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT * FROM notes
--   1|1|a
--   2|NULL|NULL
--   3|7|a
