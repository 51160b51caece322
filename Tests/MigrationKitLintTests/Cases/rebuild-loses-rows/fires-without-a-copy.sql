-- Nothing is copied at all.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
-- expect in migration: rebuild-loses-rows
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
