-- The text of the schema differs, but not what it means.
-- migration: 0001_notes
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    title TEXT  -- as the user typed it
);
-- down:
DROP TABLE notes;
-- migration: 0002_color
ALTER TABLE notes ADD COLUMN color TEXT;
-- down:
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
