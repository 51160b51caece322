-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, changed INTEGER);
-- migration: 0002_strict
-- expect in migration: breaks-installed-version
-- expect in migration: may-violate-strict error
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, changed INTEGER) STRICT;
INSERT INTO new_notes (id, changed) SELECT id, changed FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- database: 0001_notes
INSERT INTO notes (changed) VALUES (17), ('yesterday');
