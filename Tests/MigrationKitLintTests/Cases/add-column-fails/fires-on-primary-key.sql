-- migration: 0001_notes
CREATE TABLE notes (title TEXT);
-- migration: 0002_id
ALTER TABLE notes ADD COLUMN id INTEGER PRIMARY KEY;  -- expect: add-column-fails
