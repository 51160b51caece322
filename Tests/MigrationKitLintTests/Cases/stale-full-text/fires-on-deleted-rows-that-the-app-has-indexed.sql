-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
CREATE VIRTUAL TABLE search USING fts5 (title, body, content='notes', content_rowid='id');
-- migration: 0002_tidy
DELETE FROM notes WHERE title = 'blank';  -- expect: stale-full-text
