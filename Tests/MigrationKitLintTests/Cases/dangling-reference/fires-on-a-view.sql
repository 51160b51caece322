-- The view stays, and every query of it fails from now on.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE drafts (id INTEGER PRIMARY KEY, title TEXT);
CREATE VIEW titles AS SELECT title FROM notes UNION ALL SELECT title FROM drafts;
-- migration: 0002_no_drafts
INSERT INTO notes (title) SELECT title FROM drafts;
-- expect: dangling-reference
-- expect: breaks-installed-version
DROP TABLE drafts;
