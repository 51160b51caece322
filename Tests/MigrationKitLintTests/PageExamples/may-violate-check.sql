-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, priority INTEGER);
-- rows
INSERT INTO notes (priority) VALUES (1), (NULL), (9), (3), ('high');
-- example 1: finds
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, priority INTEGER CHECK (priority IN (1, 2, 3)));
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT id, priority FROM notes
--   1|1
--   2|NULL
--   3|2
--   4|3
--   5|2
