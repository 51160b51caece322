-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
CREATE INDEX notes_color ON notes (color);
-- migration: 0002_no_color
DROP INDEX notes_color;
-- expect: drop-column
-- expect: breaks-installed-version
ALTER TABLE notes DROP COLUMN color;
