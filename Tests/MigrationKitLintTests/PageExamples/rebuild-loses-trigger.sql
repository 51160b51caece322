-- tables
CREATE TABLE log (title TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TRIGGER notes_log AFTER DELETE ON notes BEGIN
    INSERT INTO log VALUES (old.title);
END;
-- rows
INSERT INTO notes (title) VALUES ('a'), (NULL), ('a');
-- example 1: finds
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
-- page
-- example 2: keeps
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
-- page
-- after
DELETE FROM notes WHERE id < 3;
-- then: SELECT title FROM log
--   a
--   NULL
