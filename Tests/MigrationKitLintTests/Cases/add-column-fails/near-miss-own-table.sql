-- The table is new and empty in every database.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
ALTER TABLE notes ADD COLUMN created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP;
