-- Nothing refers to the table, so nothing follows it.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
ALTER TABLE notes RENAME TO old_notes;
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO notes (id, title) SELECT id, title FROM old_notes;
DROP TABLE old_notes;
