-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE VIRTUAL TABLE search USING fts5 (body, content='notes', content_rowid='id');
CREATE TRIGGER notes_added AFTER INSERT ON notes BEGIN
    INSERT INTO search (rowid, body) VALUES (new.id, new.body);
END;
-- migration: 0002_shout
-- expect: stale-full-text
UPDATE notes SET body = upper(body) || ' and more';
