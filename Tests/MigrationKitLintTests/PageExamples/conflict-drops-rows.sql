-- tables
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT);
-- rows
INSERT INTO users (email) VALUES ('a'), (NULL), ('a'), (NULL), ('a');
-- example 1: finds
CREATE TABLE new_users (id INTEGER PRIMARY KEY, email TEXT UNIQUE);
-- page
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;
-- example 2: keeps
CREATE TABLE new_users (id INTEGER PRIMARY KEY, email TEXT UNIQUE);
-- page
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;
-- then: SELECT id, email FROM users
--   1|a
--   2|NULL
--   3|a.3
--   4|NULL
--   5|a.5
