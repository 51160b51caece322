-- A virtual table can't be STRICT, and a rebuild that keeps what there was isn't a new table.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT) STRICT;
CREATE VIRTUAL TABLE search USING fts5(title);
