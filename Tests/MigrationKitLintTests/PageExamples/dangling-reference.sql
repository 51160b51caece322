-- tables
CREATE TABLE drafts (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIEW titles AS SELECT title FROM notes UNION ALL SELECT title FROM drafts;
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL);
-- example 1: finds
-- example 2: keeps
-- then: SELECT title FROM titles
--   a
--   NULL
