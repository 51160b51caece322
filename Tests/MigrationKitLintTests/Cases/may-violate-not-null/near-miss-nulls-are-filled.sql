-- Every NULL gets a value on the way.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_title
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, coalesce(title, '') FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
