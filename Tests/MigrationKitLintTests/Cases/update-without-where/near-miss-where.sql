-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_titles
UPDATE notes SET title = 'untitled' WHERE title IS NULL;
