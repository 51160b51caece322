-- What the author says counts.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_no_titles
-- migrate:older breaks the old version sorts by titles
UPDATE notes SET title = NULL WHERE title = '';
-- migration: 0003_trimmed
-- migrate:older works
UPDATE notes SET title = trim(title) WHERE title IS NOT NULL;
