-- Databases that have 0003 already refuse a pending 0002, unless they are told otherwise.
-- published: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- published: 0003_color
ALTER TABLE notes ADD COLUMN color TEXT;
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_size
-- expect in migration: migration-inserted
ALTER TABLE notes ADD COLUMN size INTEGER;
-- migration: 0003_color
ALTER TABLE notes ADD COLUMN color TEXT;
