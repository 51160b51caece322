-- tables
CREATE TABLE lists (id INTEGER PRIMARY KEY);
-- example 1: finds
-- example 2: keeps
-- then: SELECT count(*) FROM items
--   0
