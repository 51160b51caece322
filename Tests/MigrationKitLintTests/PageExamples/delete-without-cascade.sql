-- tables
CREATE TABLE lists (id INTEGER PRIMARY KEY, archived INTEGER);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id));
CREATE INDEX items_list_id ON items (list_id);
-- rows
INSERT INTO lists (archived) VALUES (1), (NULL), (0), (1);
INSERT INTO items (list_id) VALUES (1), (NULL), (2), (3), (4);
-- example 1: finds
-- example 2: keeps
-- then: SELECT (SELECT group_concat(id) FROM lists), (SELECT group_concat(id) FROM items)
--   2,3|2,3,4
