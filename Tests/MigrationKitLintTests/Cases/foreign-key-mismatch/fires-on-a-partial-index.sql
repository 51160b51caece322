-- A unique index with WHERE doesn't count.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, name TEXT);
CREATE UNIQUE INDEX lists_name ON lists (name) WHERE name <> '';
-- expect: foreign-key-mismatch
CREATE TABLE items (id INTEGER PRIMARY KEY, list TEXT REFERENCES lists (name));
CREATE INDEX items_list ON items (list);
