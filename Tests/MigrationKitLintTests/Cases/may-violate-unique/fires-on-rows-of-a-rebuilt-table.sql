-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE titles (id INTEGER PRIMARY KEY, title TEXT UNIQUE);
-- migration: 0002_titles
CREATE TABLE new (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO new SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new RENAME TO notes;
INSERT INTO titles (title) SELECT title FROM notes;  -- expect: may-violate-unique
