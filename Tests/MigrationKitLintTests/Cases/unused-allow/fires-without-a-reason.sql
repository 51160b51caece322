-- Without a reason it silences nothing.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_drop
-- expect in migration: unused-allow
-- expect in migration: drop-table
-- expect in migration: breaks-installed-version
-- migrationkit:allow drop-table
DROP TABLE notes;
