-- A note without a body gets NULL again and again.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_sizes
-- migrate:batch
UPDATE notes SET size = length(body) WHERE size IS NULL;  -- expect: not-repeatable error
