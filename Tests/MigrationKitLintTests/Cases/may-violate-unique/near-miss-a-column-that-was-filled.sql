-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_code
ALTER TABLE notes ADD COLUMN code TEXT;
UPDATE notes SET code = 'note ' || id;
CREATE UNIQUE INDEX notes_code ON notes (code);
