-- An ordinary table accepts text in an INTEGER column. A STRICT one doesn't.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, changed INTEGER);
-- migration: 0002_strict
-- expect in migration: breaks-installed-version
-- expect in migration: may-violate-strict
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, changed INTEGER) STRICT;
INSERT INTO new_notes (id, changed) SELECT id, changed FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
