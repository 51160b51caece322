-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
CREATE VIEW texts AS SELECT id, title, body FROM notes;
CREATE VIRTUAL TABLE search USING fts5 (title, body, content='texts', content_rowid='id');
-- migration: 0002_texts
-- expect in migration: breaks-installed-version
DROP VIEW texts;
CREATE VIEW texts AS SELECT id, title, title || ' ' || body AS body FROM notes;  -- expect: stale-full-text
