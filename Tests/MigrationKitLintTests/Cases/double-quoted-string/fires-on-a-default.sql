-- A default in double quotes is a string, too.
-- migration: 0001_notes
-- expect: double-quoted-string
CREATE TABLE notes (id INTEGER PRIMARY KEY, state TEXT DEFAULT "open");
