-- The log has the rowids of notes, and a full-text table without content, too.
-- migration: 0001_notes
CREATE TABLE notes (body TEXT);
CREATE TABLE log (id INTEGER PRIMARY KEY, note INTEGER);
CREATE VIRTUAL TABLE search USING fts5 (body, content='');
CREATE TRIGGER notes_log AFTER INSERT ON notes BEGIN
    INSERT INTO log (note) VALUES (new.rowid);
    INSERT INTO search (rowid, body) VALUES (new.rowid, new.body);
END;
-- migration: 0002_compact transaction:false
-- expect: vacuum-renumbers-rows warning
VACUUM;
