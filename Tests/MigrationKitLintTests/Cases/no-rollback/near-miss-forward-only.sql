-- No migration of this folder can be undone: that is how the project works.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_color
ALTER TABLE notes ADD COLUMN color TEXT;
