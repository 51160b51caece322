-- The migration drops the index itself, so it means to.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, changed INTEGER);
CREATE INDEX notes_changed ON notes (changed DESC);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
DROP INDEX notes_changed;
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', changed INTEGER);
INSERT INTO new_notes (id, title, changed) SELECT id, title, changed FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
