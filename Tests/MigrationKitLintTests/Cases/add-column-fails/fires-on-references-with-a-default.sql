-- foreign-keys: immediate
-- "Cannot add a REFERENCES column with non-NULL default value".
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_list
-- expect: add-column-fails
ALTER TABLE items ADD COLUMN list_id INTEGER NOT NULL DEFAULT 1 REFERENCES lists (id);
CREATE INDEX items_list ON items (list_id);
