-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
-- migration: 0002_log
CREATE TABLE log (body TEXT);
CREATE TRIGGER logging AFTER INSERT ON notes BEGIN INSERT INTO log (body) VALUES (new.body); END;
-- migrationkit:allow breaks-installed-version the trigger always writes a size
ALTER TABLE log ADD COLUMN size INTEGER NOT NULL DEFAULT 1 CHECK (size > 0);
