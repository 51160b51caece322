-- The installed version still asks for the old name.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_name
ALTER TABLE notes RENAME COLUMN title TO name;  -- expect: breaks-installed-version
