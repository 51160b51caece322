-- The index is made again.
-- migration: 0001_notes
CREATE TABLE notes (body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (body, content=notes);
CREATE TRIGGER notes_insert AFTER INSERT ON notes BEGIN
    INSERT INTO search (rowid, body) VALUES (new.rowid, new.body);
END;
-- migration: 0002_compact transaction:false
VACUUM;
INSERT INTO search (search) VALUES ('rebuild');
