-- "foreign key mismatch" at the first change of items.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, name TEXT);
-- expect: foreign-key-mismatch
CREATE TABLE items (id INTEGER PRIMARY KEY, list TEXT REFERENCES lists (name));
CREATE INDEX items_list ON items (list);
