-- Interrupted after it, the migration runs again and fails: the table exists.
-- migration: 0001_notes transaction:false
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);  -- expect: not-repeatable
