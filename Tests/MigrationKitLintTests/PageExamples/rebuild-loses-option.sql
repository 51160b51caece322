-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT) STRICT;
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a'), ('newest');
DELETE FROM notes WHERE id = 4;
-- example 1: finds
-- page
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 2: keeps
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT (SELECT group_concat(id) FROM notes), seq FROM sqlite_sequence
--   1,2,3|4
