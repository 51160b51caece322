-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL);
-- example 1: finds
ALTER TABLE notes ADD COLUMN stem TEXT;
-- page
-- example 2: keeps
-- then: SELECT title, stem FROM notes
--   a|NULL
--   NULL|NULL
