-- tables
CREATE TABLE note (body TEXT);
CREATE VIRTUAL TABLE note_search USING fts5 (body, content='note');
CREATE TRIGGER note_added AFTER INSERT ON note BEGIN
    INSERT INTO note_search (rowid, body) VALUES (new.rowid, new.body);
END;
CREATE TRIGGER note_removed AFTER DELETE ON note BEGIN
    INSERT INTO note_search (note_search, rowid, body) VALUES ('delete', old.rowid, old.body);
END;
-- rows
INSERT INTO note VALUES ('bread'), (NULL), ('milk'), ('milk');
DELETE FROM note WHERE body = 'bread';
-- example 1: finds
-- example 2: keeps
-- then: SELECT rowid, body FROM note_search WHERE note_search MATCH 'milk'
--   2|milk
--   3|milk
