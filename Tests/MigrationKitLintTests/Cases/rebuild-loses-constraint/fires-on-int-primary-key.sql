-- INT PRIMARY KEY isn't the rowid: new rows get no number.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
-- expect in migration: rebuild-loses-constraint
CREATE TABLE new_notes (id INT PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
