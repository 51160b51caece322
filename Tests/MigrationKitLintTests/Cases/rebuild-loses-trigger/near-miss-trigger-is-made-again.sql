-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE log (title TEXT);
CREATE TRIGGER notes_log AFTER DELETE ON notes BEGIN
    INSERT INTO log VALUES (old.title);
END;
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE TRIGGER notes_log AFTER DELETE ON notes BEGIN
    INSERT INTO log VALUES (old.title);
END;
