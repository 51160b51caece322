-- A table that lives only within its migration holds nothing of the user's.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_titles
CREATE TABLE staging (title TEXT);
INSERT INTO staging SELECT title FROM notes;
DROP TABLE staging;
