-- Every item that is there gets list 1, which a database needn't have.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_list
-- expect in migration: breaks-installed-version
-- expect: may-violate-foreign-key
ALTER TABLE items ADD COLUMN list_id INTEGER NOT NULL DEFAULT 7001 REFERENCES lists (id);
CREATE INDEX items_list ON items (list_id);
