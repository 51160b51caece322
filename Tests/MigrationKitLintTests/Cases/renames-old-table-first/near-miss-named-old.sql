-- In a trigger, OLD is a row, and not the table of that name.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE log (id INTEGER PRIMARY KEY, title TEXT);
CREATE TRIGGER notes_deleted AFTER DELETE ON notes
BEGIN INSERT INTO log (title) VALUES (old.title); END;
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
DROP TRIGGER notes_deleted;
ALTER TABLE notes RENAME TO old;
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO notes (id, title) SELECT id, title FROM old;
DROP TABLE old;
CREATE TRIGGER notes_deleted AFTER DELETE ON notes
BEGIN INSERT INTO log (title) VALUES (old.title); END;
