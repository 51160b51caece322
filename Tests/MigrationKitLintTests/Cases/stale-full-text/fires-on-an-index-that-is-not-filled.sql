-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
-- migration: 0002_search
-- expect: stale-full-text
CREATE VIRTUAL TABLE search USING fts5 (body, content='notes', content_rowid='id');
