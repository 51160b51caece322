-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE VIRTUAL TABLE search USING fts5 (body, content='notes', content_rowid='id');
-- migration: 0002_shout
-- expect: stale-full-text
UPDATE notes SET body = upper(body) || ' and more' WHERE id > 0;
