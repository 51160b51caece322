-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_required
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
INSERT INTO new (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new RENAME TO notes;
-- database: 0001_notes
INSERT INTO notes (title) VALUES ('one');
