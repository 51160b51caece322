-- Every title is overwritten.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_reset
UPDATE notes SET title = '';  -- expect: update-without-where
