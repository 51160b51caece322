-- tables
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT);
-- rows
INSERT INTO users (email) VALUES (NULL), ('a'), (NULL), ('a'), ('b'), ('a');
-- example 1: finds
-- example 2: keeps
-- then: SELECT id, email FROM users
--   1|NULL
--   2|a
--   3|NULL
--   4|NULL
--   5|b
--   6|NULL
