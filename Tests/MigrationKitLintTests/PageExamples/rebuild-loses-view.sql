-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIEW titles AS SELECT title FROM notes;
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
-- page
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
-- page
-- replacing: -- … the rebuild of notes …
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT title FROM titles
--   a
--   NULL
--   a
