-- Every later change of items fails: its parent table no longer exists.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id));
CREATE INDEX items_list ON items (list_id);
-- migration: 0002_no_lists
-- expect: drop-table
-- expect: dangling-reference
-- expect: breaks-installed-version
DROP TABLE lists;
