-- Names sort and compare by case again.
-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE);
-- migration: 0002_color
-- expect in migration: breaks-installed-version
-- expect in migration: rebuild-loses-column-property
CREATE TABLE new_tags (id INTEGER PRIMARY KEY, name TEXT, color TEXT);
INSERT INTO new_tags (id, name) SELECT id, name FROM tags;
DROP TABLE tags;
ALTER TABLE new_tags RENAME TO tags;
