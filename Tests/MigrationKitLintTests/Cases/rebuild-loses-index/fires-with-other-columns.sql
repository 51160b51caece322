-- The index has its name again, but not its columns.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, changed INTEGER);
CREATE INDEX notes_list ON notes (changed, title);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', changed INTEGER);
INSERT INTO new_notes (id, title, changed) SELECT id, title, changed FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- expect in migration: rebuild-loses-index warning
CREATE INDEX notes_list ON notes (changed);
