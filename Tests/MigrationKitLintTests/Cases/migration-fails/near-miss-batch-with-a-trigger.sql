-- What the trigger writes isn't what the statement reads.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_log
CREATE TABLE log (note INTEGER, size INTEGER);
CREATE TRIGGER noted AFTER UPDATE OF size ON notes BEGIN INSERT INTO log VALUES (new.id, new.size); END;
-- migration: 0003_fill
-- migrate:batch
UPDATE notes SET size = 0 WHERE size IS NULL;
