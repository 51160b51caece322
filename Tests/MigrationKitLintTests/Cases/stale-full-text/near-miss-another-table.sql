-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE VIRTUAL TABLE search USING fts4 (content="notes", body);
-- migration: 0002_color
ALTER TABLE notes ADD COLUMN color TEXT;
