-- "open" names no column. SQLite takes it for the string 'open' unless a program turns that off, as
-- this one does: then the migration fails.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, state TEXT);
-- migration: 0002_close
UPDATE notes SET state = NULL WHERE state = "open";  -- expect: double-quoted-string error
