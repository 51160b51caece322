-- What is done is left out by the condition, and NULL by another.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_copies
CREATE TABLE copies (note INTEGER PRIMARY KEY, body TEXT);
-- migration: 0003_sizes
-- migrate:batch
UPDATE notes SET size = length(body) WHERE size IS NULL AND body IS NOT NULL;
-- migrate:batch rows=10
INSERT INTO copies (note, body)
SELECT id, body FROM notes AS n WHERE NOT EXISTS (SELECT 1 FROM copies WHERE note = n.id);
-- migration: 0004_gone
-- migrate:batch
DELETE FROM notes WHERE state = 'gone';
