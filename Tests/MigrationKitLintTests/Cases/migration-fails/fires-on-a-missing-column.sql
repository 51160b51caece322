-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_titles
UPDATE notes SET titel = 'untitled' WHERE title IS NULL;  -- expect: migration-fails
