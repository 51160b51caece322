-- "open" names no column, so SQLite takes it for the string 'open'.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, state TEXT);
-- migration: 0002_close
UPDATE notes SET state = NULL WHERE state = "open";  -- expect: double-quoted-string
