-- Each row is in one of the two copies, and a LEFT JOIN keeps all rows.
-- migration: 0001_notes
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE notes (id INTEGER PRIMARY KEY, list INTEGER, title TEXT);
CREATE TABLE tags (id INTEGER PRIMARY KEY, list INTEGER, title TEXT);
-- migration: 0002_defaults
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, list INTEGER, title TEXT DEFAULT '');
INSERT INTO new_notes (id, list, title) SELECT id, list, title FROM notes WHERE list IS NULL;
INSERT INTO new_notes (id, list, title) SELECT id, list, title FROM notes WHERE list IS NOT NULL;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE TABLE new_tags (id INTEGER PRIMARY KEY, list INTEGER, title TEXT DEFAULT '');
INSERT INTO new_tags (id, list, title)
SELECT tags.id, tags.list, tags.title FROM tags LEFT JOIN lists ON lists.id = tags.list;
DROP TABLE tags;
ALTER TABLE new_tags RENAME TO tags;
