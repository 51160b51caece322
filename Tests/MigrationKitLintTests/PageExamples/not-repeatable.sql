-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT, size INTEGER);
-- rows
INSERT INTO notes (title, body) VALUES ('a', 'milk'), ('a', NULL), (NULL, '');
-- example 1: finds
-- example 2: keeps
-- then: SELECT name FROM pragma_index_list('notes')
--   notes_title
-- example 3: keeps
-- then: SELECT count(*) FROM notes
--   3
-- example 4: finds
-- example 5: keeps
-- then: SELECT title, body, size FROM notes
--   a|milk|4
--   a|NULL|NULL
--   NULL||0
