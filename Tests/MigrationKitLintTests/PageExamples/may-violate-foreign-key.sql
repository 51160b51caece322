-- tables
CREATE TABLE lists (id INTEGER PRIMARY KEY);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER);
CREATE INDEX items_list_id ON items (list_id);
-- rows
INSERT INTO lists VALUES (1), (2);
INSERT INTO items (list_id) VALUES (1), (NULL), (7), (2), (2);
-- example 1: finds
-- page
DROP TABLE items;
ALTER TABLE new_items RENAME TO items;
-- example 2: keeps
-- page
DROP TABLE items;
ALTER TABLE new_items RENAME TO items;
-- then: SELECT id, list_id FROM items
--   1|1
--   2|NULL
--   3|NULL
--   4|2
--   5|2
