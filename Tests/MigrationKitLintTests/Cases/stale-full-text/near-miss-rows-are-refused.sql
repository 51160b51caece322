-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIRTUAL TABLE search USING fts5 (title, content='notes', content_rowid='id');
CREATE TRIGGER added AFTER INSERT ON notes BEGIN
    INSERT INTO search (rowid, title) VALUES (new.id, new.title);
END;
-- migration: 0002_short
-- expect in migration: may-violate-check
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, title TEXT CHECK (length(title) < 3));
INSERT INTO new (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new RENAME TO notes;
CREATE TRIGGER added AFTER INSERT ON notes BEGIN
    INSERT INTO search (rowid, title) VALUES (new.id, new.title);
END;
