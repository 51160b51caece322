-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, changed INTEGER) STRICT;
-- migration: 0002_title
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, changed INTEGER, title TEXT) STRICT;
INSERT INTO new_notes (id, changed) SELECT id, changed FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
