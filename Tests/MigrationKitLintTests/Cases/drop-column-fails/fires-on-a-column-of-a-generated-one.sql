-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, size INTEGER AS (length(title)));
-- migration: 0002_no_title
ALTER TABLE notes DROP COLUMN title;  -- expect: drop-column-fails
