-- The new table has the column under another name, and perhaps an index that does the same.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, user_id INTEGER, changed INTEGER);
CREATE INDEX notes_user ON notes (user_id);
-- migration: 0002_names
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, author INTEGER, changed INTEGER);
INSERT INTO new_notes (id, author, changed) SELECT id, user_id, changed FROM notes;
-- expect in migration: rebuild-loses-index warning
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE INDEX notes_author ON notes (author);
