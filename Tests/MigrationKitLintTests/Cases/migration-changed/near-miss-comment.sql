-- Comments and white space have no effect.
-- published: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0001_notes
-- All notes of the user.
CREATE TABLE notes (
    id INTEGER PRIMARY KEY, title TEXT
);
-- migration: 0002_color
ALTER TABLE notes ADD COLUMN color TEXT;
