-- ADD COLUMN and RENAME COLUMN change only the schema.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_columns
ALTER TABLE notes ADD COLUMN color TEXT;
ALTER TABLE notes ADD COLUMN size INTEGER;
ALTER TABLE notes ADD COLUMN font TEXT;
ALTER TABLE notes ADD COLUMN slug TEXT;
