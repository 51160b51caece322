-- A constant default is filled in for every row that is there.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_columns
ALTER TABLE notes ADD COLUMN color TEXT NOT NULL DEFAULT 'white';
ALTER TABLE notes ADD COLUMN created TEXT;
ALTER TABLE notes ADD COLUMN slug TEXT;
CREATE UNIQUE INDEX notes_slug ON notes (slug);
