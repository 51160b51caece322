-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
CREATE VIRTUAL TABLE search USING fts5 (title, body, content='notes', content_rowid='id');
CREATE TRIGGER added AFTER INSERT ON notes BEGIN
    INSERT INTO search (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE TRIGGER deleted AFTER DELETE ON notes BEGIN
    INSERT INTO search (search, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
END;
CREATE TRIGGER changed AFTER UPDATE ON notes BEGIN
    INSERT INTO search (search, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
    INSERT INTO search (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
-- migration: 0002_again
-- expect in migration: breaks-installed-version
DROP TRIGGER changed;
CREATE TRIGGER changed AFTER UPDATE ON notes BEGIN  -- expect: stale-full-text warning
    INSERT INTO search (search, rowid, title, body) VALUES ('delete', old.id, new.title, new.body);
    INSERT INTO search (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
