-- One slip in the text, and the database can't be opened any more.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_edit
PRAGMA writable_schema = ON;  -- expect: writable-schema
PRAGMA writable_schema = OFF;
