-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, subtitle TEXT);
-- migration: 0002_titles
UPDATE notes SET title = trim(subtitle) WHERE title = '' AND subtitle IS NOT NULL;
