-- Both comments silence a finding of the statement after them.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_drop
-- migrationkit:allow drop-table the table was never shipped
-- migrationkit:allow breaks-installed-version the table was never shipped
DROP TABLE notes;
