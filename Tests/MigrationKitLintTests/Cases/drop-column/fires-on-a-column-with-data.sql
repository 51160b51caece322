-- The colours of all notes are gone.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, color TEXT);
-- migration: 0002_no_color
-- expect: drop-column
-- expect: breaks-installed-version
ALTER TABLE notes DROP COLUMN color;
