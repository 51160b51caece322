-- Neither of the conditions alone has a row, and none ends.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_sizes
-- migrate:batch
UPDATE notes SET body = body || '!' WHERE state = 'done' AND size = 7;  -- expect: not-repeatable error
