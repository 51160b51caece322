-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
-- migration: 0002_search
CREATE VIRTUAL TABLE search USING fts5 (title, body);
INSERT INTO search (rowid, title, body) SELECT id, title, body FROM notes;
CREATE TRIGGER added AFTER INSERT ON notes BEGIN
    INSERT INTO search (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
