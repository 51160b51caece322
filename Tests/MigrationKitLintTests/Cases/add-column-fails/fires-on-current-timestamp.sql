-- Works while the table is empty. With one row: "Cannot add a column with non-constant default".
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_created
-- expect: add-column-fails
ALTER TABLE notes ADD COLUMN created TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP;
