-- VARCHAR(20) and TEXT have the same affinity, and SQLite ignores the length.
-- migration: 0001_parts
CREATE TABLE parts (id INTEGER PRIMARY KEY, number VARCHAR(20));
-- migration: 0002_number
-- expect in migration: breaks-installed-version
CREATE TABLE new_parts (id INTEGER PRIMARY KEY, number TEXT);
INSERT INTO new_parts (id, number) SELECT id, number FROM parts;
DROP TABLE parts;
ALTER TABLE new_parts RENAME TO parts;
