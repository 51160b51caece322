-- tables
CREATE TABLE parts (id INTEGER PRIMARY KEY, number TEXT);
-- rows
INSERT INTO parts (number) VALUES ('007'), (NULL), ('7'), ('7'), ('1e3'), ('');
-- example 1: finds
-- page
DROP TABLE parts;
ALTER TABLE new_parts RENAME TO parts;
-- example 2: keeps
-- then: SELECT number, number_value FROM parts
--   007|NULL
--   NULL|NULL
--   7|7
--   7|7
--   1e3|NULL
--   |NULL
