-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT);
-- migration: 0002_code
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT, code TEXT UNIQUE ON CONFLICT REPLACE);
INSERT OR ABORT INTO new (id, name) SELECT id, name FROM tags;
DROP TABLE tags;
ALTER TABLE new RENAME TO tags;
