-- DO NOTHING leaves out the second of two rows with one name.
-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);
-- migration: 0002_unique_names
-- expect in migration: breaks-installed-version
CREATE TABLE new_tags (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
-- expect in migration: conflict-drops-rows
INSERT INTO new_tags (id, name) SELECT id, name FROM tags WHERE true ON CONFLICT DO NOTHING;
DROP TABLE tags;
ALTER TABLE new_tags RENAME TO tags;
