-- migration: 0001_notes
CREATE TABLE notes (
    id INTEGER PRIMARY KEY, body TEXT NOT NULL, size INTEGER NOT NULL DEFAULT 0 CHECK (size < 1000)
);
-- migration: 0002_sizes
UPDATE notes SET size = length(body) WHERE size = 0;  -- expect: may-violate-check
