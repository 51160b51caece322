-- In double quotes, it is the column.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, status TEXT);
-- migration: 0002_deleted
DELETE FROM notes WHERE status = "status";  -- expect: delete-without-where
