-- Negative numbers are in neither.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_in_two_parts
CREATE TABLE notes_new (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO notes_new (id, title) SELECT id, title FROM notes WHERE id % 2 = 0;
INSERT INTO notes_new (id, title) SELECT id, title FROM notes WHERE id % 2 = 1;  -- expect: rebuild-loses-rows warning
DROP TABLE notes;
ALTER TABLE notes_new RENAME TO notes;
