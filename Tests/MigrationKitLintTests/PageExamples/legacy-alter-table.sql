-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIEW titles AS SELECT title FROM notes;
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL);
-- example 1: finds
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
-- page
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
-- page
-- then: SELECT title FROM titles
--   a
--   NULL
