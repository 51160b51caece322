-- The foreign key of items follows the old table, which is dropped at the end.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id));
CREATE INDEX items_list ON items (list_id);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
-- expect in migration: renames-old-table-first
ALTER TABLE lists RENAME TO old_lists;
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO lists (id, title) SELECT id, title FROM old_lists;
DROP TABLE old_lists;
