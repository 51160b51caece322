-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIEW titles AS SELECT title FROM notes;
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
DROP VIEW titles;
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE VIEW titles AS SELECT title FROM notes;
