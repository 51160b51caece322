-- Only some rows, and the migration says which.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_no_empty_notes
DELETE FROM notes WHERE title = '';
