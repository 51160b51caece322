-- tables
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE);
-- rows
INSERT INTO tags (name) VALUES ('Work'), (NULL), ('work');
-- example 1: finds
-- page
INSERT INTO new_tags (id, name) SELECT id, name FROM tags;
DROP TABLE tags;
ALTER TABLE new_tags RENAME TO tags;
-- example 2: keeps
-- page
INSERT INTO new_tags (id, name) SELECT id, name FROM tags;
DROP TABLE tags;
ALTER TABLE new_tags RENAME TO tags;
-- then: SELECT id FROM tags WHERE name = 'WORK'
--   1
--   3
