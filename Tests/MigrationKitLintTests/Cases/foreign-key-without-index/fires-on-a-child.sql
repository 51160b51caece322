-- Every DELETE of a list reads all items.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
-- expect: foreign-key-without-index
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id));
