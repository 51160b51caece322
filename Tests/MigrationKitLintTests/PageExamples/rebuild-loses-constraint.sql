-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT CHECK (title <> ''));
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
-- page
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
-- page
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT * FROM notes
--   1|a|NULL
--   2|NULL|NULL
--   3|a|NULL
