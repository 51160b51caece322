-- The installed version doesn't know the column, so its INSERT fails.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_color
-- expect in migration: breaks-installed-version note
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT NOT NULL);
INSERT INTO new_notes (id, title, color) SELECT id, title, 'white' FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
