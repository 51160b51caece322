-- Nothing has checked these ids so far. One without a list makes the migration fail.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER);
-- migration: 0002_foreign_key
-- expect in migration: breaks-installed-version
-- expect in migration: may-violate-foreign-key
CREATE TABLE new_items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id));
INSERT INTO new_items (id, list_id) SELECT id, list_id FROM items;
DROP TABLE items;
ALTER TABLE new_items RENAME TO items;
CREATE INDEX items_list ON items (list_id);
