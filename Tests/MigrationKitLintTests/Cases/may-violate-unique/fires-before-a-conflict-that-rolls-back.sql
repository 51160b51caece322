-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT UNIQUE);
CREATE TABLE titles (id INTEGER PRIMARY KEY, title TEXT UNIQUE ON CONFLICT ROLLBACK);
-- migration: 0002_titles
UPDATE notes SET title = lower(title);  -- expect: may-violate-unique
INSERT INTO titles (title) SELECT lower(title) FROM notes;  -- expect: may-violate-unique
