-- The new column is NULL in every row, and NULL refers to nothing.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_list
-- expect in migration: breaks-installed-version
ALTER TABLE items ADD COLUMN list_id INTEGER REFERENCES lists (id);
CREATE INDEX items_list ON items (list_id);
