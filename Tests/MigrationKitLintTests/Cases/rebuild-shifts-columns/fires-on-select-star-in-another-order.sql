-- SELECT * copies by position: titles become colours and colours become titles.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
-- migration: 0002_order
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, color TEXT, title TEXT DEFAULT '');
-- expect in migration: rebuild-shifts-columns
INSERT INTO new_notes SELECT * FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
