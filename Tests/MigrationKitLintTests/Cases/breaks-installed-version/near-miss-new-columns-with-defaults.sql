-- The installed version doesn't need to know a column that has a default or may be NULL.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_columns
ALTER TABLE notes ADD COLUMN color TEXT NOT NULL DEFAULT 'white';
ALTER TABLE notes ADD COLUMN size INTEGER;
