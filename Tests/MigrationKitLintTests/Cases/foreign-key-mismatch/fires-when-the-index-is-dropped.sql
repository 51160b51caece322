-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, name TEXT);
CREATE UNIQUE INDEX lists_name ON lists (name);
CREATE TABLE items (id INTEGER PRIMARY KEY, list TEXT REFERENCES lists (name));
CREATE INDEX items_list ON items (list);
-- migration: 0002_no_index
-- expect in migration: breaks-installed-version
DROP INDEX lists_name;  -- expect: foreign-key-mismatch
