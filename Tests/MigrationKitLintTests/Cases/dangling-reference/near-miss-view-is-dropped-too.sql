-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE drafts (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIEW titles AS SELECT title FROM notes UNION ALL SELECT title FROM drafts;
-- migration: 0002_no_drafts
-- expect in migration: breaks-installed-version
DROP VIEW titles;
INSERT INTO notes (title) SELECT title FROM drafts;
DROP TABLE drafts;  -- expect: breaks-installed-version
CREATE VIEW titles AS SELECT title FROM notes;
