-- The rowids are copied, too.
-- migration: 0001_notes
CREATE TABLE notes (title TEXT, body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (title, body, content='notes');
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (title TEXT DEFAULT '', body TEXT);
INSERT INTO new_notes (rowid, title, body) SELECT rowid, title, body FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
