-- Two titles may begin alike.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_code
ALTER TABLE notes ADD COLUMN code TEXT;
UPDATE notes SET code = substr(title, 1, 3);
CREATE UNIQUE INDEX notes_code ON notes (code);  -- expect: may-violate-unique
