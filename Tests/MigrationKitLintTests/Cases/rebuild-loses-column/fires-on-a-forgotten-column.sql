-- Both tables have a colour, but the copy leaves it out.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', color TEXT);
-- expect in migration: rebuild-loses-column
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
