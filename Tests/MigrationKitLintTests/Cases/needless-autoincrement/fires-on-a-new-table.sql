-- An INTEGER PRIMARY KEY counts up without it.
-- migration: 0001_notes
-- expect: needless-autoincrement
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT);
