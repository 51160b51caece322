-- migration: 0001_notes
-- expect in migration: unused-allow
-- migrationkit:allow drop-table the table was never shipped
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
