-- "error in index notes_color after drop column: no such column: color".
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
CREATE INDEX notes_color ON notes (color);
-- migration: 0002_no_color
ALTER TABLE notes DROP COLUMN color;  -- expect: drop-column-fails
