-- Interrupted after the DROP, the next run has nothing to copy from.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_title_default transaction:false
-- expect in migration: breaks-installed-version
-- expect in migration: not-repeatable
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
