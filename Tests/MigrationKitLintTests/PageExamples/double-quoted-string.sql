-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, state TEXT);
-- rows
INSERT INTO notes (state) VALUES ('open'), (NULL), ('open'), ('new');
-- example 1: finds
-- example 2: keeps
-- then: SELECT state FROM notes
--   closed
--   NULL
--   closed
--   new
