-- The same foreign key as before, with another action.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id));
CREATE INDEX items_list ON items (list_id);
-- migration: 0002_cascade
-- expect in migration: breaks-installed-version
CREATE TABLE new_items (
    id INTEGER PRIMARY KEY,
    list_id INTEGER REFERENCES lists (id) ON DELETE CASCADE
);
INSERT INTO new_items (id, list_id) SELECT id, list_id FROM items;
DROP TABLE items;
ALTER TABLE new_items RENAME TO items;
CREATE INDEX items_list ON items (list_id);
