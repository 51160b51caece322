-- A priority may be anything so far.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, priority INTEGER NOT NULL DEFAULT 2);
-- migration: 0002_priority
-- expect in migration: may-violate-check
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (
    id INTEGER PRIMARY KEY,
    priority INTEGER NOT NULL DEFAULT 2 CHECK (priority IN (1, 2, 3))
);
INSERT INTO new_notes (id, priority) SELECT id, priority FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
