-- Works while the table is empty. With one row: "Cannot add a NOT NULL column with default NULL".
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_color
ALTER TABLE notes ADD COLUMN color TEXT NOT NULL;  -- expect: add-column-fails
