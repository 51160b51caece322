-- A row that others change between the two would be deleted without its copy.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_copies
CREATE TABLE copies (note INTEGER PRIMARY KEY, body TEXT);
-- migration: 0003_move
-- migrate:batch
INSERT INTO copies (note, body)
SELECT id, body FROM notes AS n WHERE NOT EXISTS (SELECT 1 FROM copies WHERE note = n.id);
-- migrate:batch
DELETE FROM notes WHERE state = 'gone';  -- expect: migration-fails
