-- tables
CREATE TABLE sessions (id INTEGER PRIMARY KEY, expires INTEGER);
-- rows
INSERT INTO sessions (expires) VALUES (1), (NULL), (9999999999);
-- example 1: finds
-- example 2: keeps
-- then: SELECT id FROM sessions
--   2
--   3
-- example 3: keeps
-- then: SELECT count(*) FROM sessions
--   0
