-- A virtual column stores nothing. It can be computed again.
-- migration: 0001_notes
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    size INTEGER GENERATED ALWAYS AS (length(title)) VIRTUAL
);
-- migration: 0002_no_size
-- expect: breaks-installed-version
ALTER TABLE notes DROP COLUMN size;
