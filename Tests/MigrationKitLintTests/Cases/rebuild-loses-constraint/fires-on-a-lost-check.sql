-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT CHECK (title <> ''));
-- migration: 0002_color
-- expect in migration: breaks-installed-version
-- expect in migration: rebuild-loses-constraint
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
