-- Every row that satisfied the old check satisfies the new one.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, priority INTEGER CHECK (priority IN (1, 2, 3)));
-- migration: 0002_priority
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (
    id INTEGER PRIMARY KEY,
    priority INTEGER CHECK (priority IN (1, 2, 3, 4))
);
INSERT INTO new_notes (id, priority) SELECT id, priority FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
