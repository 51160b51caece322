-- Another default is what the migration is for.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT 'untitled' COLLATE NOCASE);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT COLLATE NOCASE DEFAULT 'new note');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
