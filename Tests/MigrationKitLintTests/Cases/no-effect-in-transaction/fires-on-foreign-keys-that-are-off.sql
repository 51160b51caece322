-- Foreign keys are off in a migration, so asking for that is harmless.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_seed
PRAGMA foreign_keys = OFF;  -- expect: no-effect-in-transaction note
INSERT INTO notes (title) VALUES ('Welcome');
PRAGMA foreign_keys = ON;
