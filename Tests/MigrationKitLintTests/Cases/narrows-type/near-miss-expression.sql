-- The expression says which number each text becomes.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, changed TEXT NOT NULL);
-- migration: 0002_times_as_numbers
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, changed INTEGER NOT NULL);
INSERT INTO new_notes (id, changed) SELECT id, coalesce(unixepoch(changed), 0) FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
