-- The column is renamed, and the rebuild copies it under its new name.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
CREATE INDEX notes_body ON notes (lower(body)) WHERE body IS NOT NULL;
-- migration: 0002_text
-- expect in migration: breaks-installed-version
ALTER TABLE notes RENAME COLUMN body TO content;
ALTER TABLE notes RENAME COLUMN content TO text;
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT, text TEXT NOT NULL DEFAULT '');
INSERT INTO new_notes (id, title, text) SELECT id, title, coalesce(text, '') FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE INDEX notes_body ON notes (lower(text)) WHERE text IS NOT NULL;
