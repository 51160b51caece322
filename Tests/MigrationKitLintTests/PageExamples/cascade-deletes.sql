-- tables
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id) ON DELETE CASCADE);
CREATE INDEX items_list_id ON items (list_id);
-- rows
INSERT INTO lists (title) VALUES ('a'), (NULL);
INSERT INTO items (list_id) VALUES (1), (NULL), (2), (2);
-- example 1: keeps
-- then: SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM lists), (SELECT title FROM lists WHERE id = 2)
--   4|2|NULL
