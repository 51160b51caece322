-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE old (id INTEGER);
-- migration: 0002_tidy
DELETE FROM notes WHERE id IN (SELECT id FROM old);
