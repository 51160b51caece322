-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, is_draft INTEGER NOT NULL DEFAULT 0);
CREATE TABLE drafts (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL);
INSERT INTO drafts (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
-- example 2: keeps
-- then: SELECT title, is_draft FROM notes
--   a|0
--   NULL|0
--   a|1
--   NULL|1
--   a|1
