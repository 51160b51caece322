-- tables
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id) ON DELETE CASCADE);
CREATE INDEX items_list_id ON items (list_id);
-- rows
INSERT INTO lists (title) VALUES ('a'), (NULL);
INSERT INTO items (list_id) VALUES (1), (NULL), (2), (2);
-- example 1: finds
-- example 2: keeps
-- then: SELECT count(*), (SELECT count(*) FROM lists), (SELECT "table" FROM pragma_foreign_key_list('items')) FROM items
--   4|2|lists
