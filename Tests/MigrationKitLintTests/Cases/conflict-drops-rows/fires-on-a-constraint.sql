-- The constraint itself replaces the first of two rows with one name.
-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);
-- migration: 0002_unique_names
-- expect in migration: breaks-installed-version
CREATE TABLE new_tags (id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT REPLACE);
-- expect in migration: conflict-drops-rows
INSERT INTO new_tags (id, name) SELECT id, name FROM tags;
DROP TABLE tags;
ALTER TABLE new_tags RENAME TO tags;
