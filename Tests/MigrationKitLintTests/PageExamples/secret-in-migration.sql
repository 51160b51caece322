-- tables
CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, password TEXT);
-- rows
INSERT INTO accounts (name, password) VALUES ('admin', 'x'), (NULL, NULL);
-- example 1: finds
-- example 2: keeps
-- then: SELECT name, password FROM accounts
--   admin|x
--   NULL|NULL
--   admin|NULL
