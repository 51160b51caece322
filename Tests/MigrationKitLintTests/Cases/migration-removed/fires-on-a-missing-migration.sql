-- Databases have it applied, and are refused by the next run.
-- published: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- published: 0002_color
-- expect in migration: migration-removed
ALTER TABLE notes ADD COLUMN color TEXT;
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
