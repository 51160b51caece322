-- The copy casts every value to the column's type.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, changed INTEGER);
-- migration: 0002_strict
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, changed INTEGER) STRICT;
INSERT INTO new_notes (id, changed) SELECT id, CAST(changed AS INTEGER) FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
