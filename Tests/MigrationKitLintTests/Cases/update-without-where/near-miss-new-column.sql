-- A backfill writes to a column that is new, so it overwrites nothing.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_slug
ALTER TABLE notes ADD COLUMN slug TEXT;
UPDATE notes SET slug = lower(title);
