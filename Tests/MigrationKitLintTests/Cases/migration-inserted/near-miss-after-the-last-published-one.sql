-- published: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- published: 0003_color
ALTER TABLE notes ADD COLUMN color TEXT;
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0003_color
ALTER TABLE notes ADD COLUMN color TEXT;
-- migration: 0004_size
ALTER TABLE notes ADD COLUMN size INTEGER;
