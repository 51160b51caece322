-- Every note is gone, and the installed version still reads the table.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_drop
-- expect: drop-table
-- expect: breaks-installed-version
DROP TABLE notes;
