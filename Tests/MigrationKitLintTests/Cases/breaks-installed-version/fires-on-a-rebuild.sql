-- Whether the rows are the same can't be told from the text, so the installed version is refused.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_notes
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;  -- expect: breaks-installed-version note
