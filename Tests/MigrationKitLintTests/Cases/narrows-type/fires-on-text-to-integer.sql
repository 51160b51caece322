-- '007' becomes 7 in a column with INTEGER affinity.
-- migration: 0001_parts
CREATE TABLE parts (id INTEGER PRIMARY KEY, number TEXT);
-- migration: 0002_number
-- expect in migration: breaks-installed-version
-- expect in migration: narrows-type
CREATE TABLE new_parts (id INTEGER PRIMARY KEY, number INTEGER);
INSERT INTO new_parts (id, number) SELECT id, number FROM parts;
DROP TABLE parts;
ALTER TABLE new_parts RENAME TO parts;
