-- The check was there before, so no row violates it.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, priority INTEGER CHECK (priority IN (1, 2, 3)));
-- migration: 0002_title
CREATE TABLE new_notes (
    id INTEGER PRIMARY KEY,
    priority INTEGER CHECK ("priority" in (1,2,3)),
    title TEXT
);
INSERT INTO new_notes (id, priority) SELECT id, priority FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
