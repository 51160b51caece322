-- migration: 0001_notes
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    state TEXT NOT NULL CHECK (state IN ('open', 'done'))
);
-- migration: 0002_overdue
-- expect in migration: breaks-installed-version
CREATE TABLE new (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'overdue'))
);
INSERT INTO new (id, digest, state) SELECT id, digest, state FROM notes;
DROP TABLE notes;
ALTER TABLE new RENAME TO notes;
