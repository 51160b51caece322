-- It is gone with the connection, and a program may keep it in an unencrypted file until then.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_titles
CREATE TEMPORARY TABLE titles AS SELECT title FROM notes;  -- expect: temporary-object
DROP TABLE titles;
