-- steps
-- "cannot VACUUM from within a transaction".
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_compact
VACUUM;  -- expect: no-effect-in-transaction error
