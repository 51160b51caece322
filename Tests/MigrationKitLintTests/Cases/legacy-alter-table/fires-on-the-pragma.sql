-- References no longer follow a rename, here and in every later migration of the run.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_legacy
PRAGMA legacy_alter_table = ON;  -- expect: legacy-alter-table
