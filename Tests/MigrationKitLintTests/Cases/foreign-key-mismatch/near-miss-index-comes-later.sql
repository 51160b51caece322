-- Only the schema at the end of the migration matters.
-- migration: 0001_lists
CREATE TABLE items (id INTEGER PRIMARY KEY, list TEXT REFERENCES lists (name));
CREATE INDEX items_list ON items (list);
CREATE TABLE lists (id INTEGER PRIMARY KEY, name TEXT);
CREATE UNIQUE INDEX lists_name ON lists (name);
