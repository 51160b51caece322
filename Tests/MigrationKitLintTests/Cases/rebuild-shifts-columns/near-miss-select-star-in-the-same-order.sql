-- SELECT * is right as long as both tables have the same columns in the same order.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', color TEXT);
INSERT INTO new_notes SELECT * FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
