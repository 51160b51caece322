-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, slug TEXT UNIQUE);
-- migration: 0002_no_slug
ALTER TABLE notes DROP COLUMN slug;  -- expect: drop-column-fails
