-- The foreign key's column is the first of an index or of a key.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id), title TEXT);
CREATE INDEX items_list ON items (list_id, title);
CREATE TABLE members (
    list_id INTEGER NOT NULL REFERENCES lists (id),
    name TEXT NOT NULL,
    PRIMARY KEY (list_id, name)
);
