-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, changed INTEGER, deleted INTEGER);
CREATE INDEX notes_changed ON notes (changed DESC) WHERE deleted = 0;
-- rows
INSERT INTO notes (title, changed, deleted) VALUES ('a', 1, 0), (NULL, NULL, NULL), ('a', 1, 0);
-- example 1: finds
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', changed INTEGER, deleted INTEGER);
INSERT INTO new_notes (id, title, changed, deleted) SELECT id, title, changed, deleted FROM notes;
-- page
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', changed INTEGER, deleted INTEGER);
INSERT INTO new_notes (id, title, changed, deleted) SELECT id, title, changed, deleted FROM notes;
-- page
-- then: SELECT count(*), (SELECT name FROM pragma_index_list('notes')) FROM notes
--   3|notes_changed
