-- The full-text table still reads the column by its old name.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (title, body, content='notes', content_rowid='id');
-- migration: 0002_rename
-- expect in migration: breaks-installed-version
-- expect in migration: dangling-reference
ALTER TABLE notes RENAME COLUMN body TO text;
