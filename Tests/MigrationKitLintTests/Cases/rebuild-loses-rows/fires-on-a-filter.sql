-- Notes without a list are lost, even if no generated note is one.
-- migration: 0001_notes
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE notes (id INTEGER PRIMARY KEY, list INTEGER REFERENCES lists (id), title TEXT);
CREATE INDEX notes_list ON notes (list);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (
    id INTEGER PRIMARY KEY, list INTEGER REFERENCES lists (id), title TEXT DEFAULT ''
);
-- expect in migration: rebuild-loses-rows warning
INSERT INTO new_notes (id, list, title) SELECT id, list, title FROM notes WHERE list IS NOT NULL;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE INDEX notes_list ON notes (list);
