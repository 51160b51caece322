-- "Cannot add a UNIQUE column", even to an empty table.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_slug
ALTER TABLE notes ADD COLUMN slug TEXT UNIQUE;  -- expect: add-column-fails
