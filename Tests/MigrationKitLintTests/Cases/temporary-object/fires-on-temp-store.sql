-- steps
-- Sorting and statement journals would leave memory for files.
-- migration: 0001_notes
PRAGMA temp_store = FILE;  -- expect: temporary-object
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
