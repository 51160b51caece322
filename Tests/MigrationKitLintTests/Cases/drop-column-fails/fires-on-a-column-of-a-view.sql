-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
CREATE VIEW colors AS SELECT color FROM notes;
-- migration: 0002_no_color
ALTER TABLE notes DROP COLUMN color;  -- expect: drop-column-fails
