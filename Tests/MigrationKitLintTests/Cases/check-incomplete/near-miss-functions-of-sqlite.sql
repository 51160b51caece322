-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_titles
UPDATE notes SET title = trim(replace(title, char(9), ' ')) WHERE title IS NOT NULL;
