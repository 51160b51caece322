-- tables
-- example 1: finds
-- example 2: keeps
-- after
INSERT INTO lists (name) VALUES ('a'), (NULL), (NULL);
INSERT INTO items (list) VALUES ('a'), (NULL), ('a');
-- then: SELECT count(*) FROM pragma_foreign_key_check
--   0
