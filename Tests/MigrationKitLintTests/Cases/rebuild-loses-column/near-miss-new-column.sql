-- A column that the old table doesn't have can't be copied.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_color
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', color TEXT);
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
