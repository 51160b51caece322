-- steps
-- A migration's foreign keys are off unless it asks for them, so nothing cascades.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    list_id INTEGER NOT NULL REFERENCES lists (id) ON DELETE CASCADE
);
CREATE INDEX items_list ON items (list_id);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_lists (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_lists (id, title) SELECT id, title FROM lists;
DROP TABLE lists;
ALTER TABLE new_lists RENAME TO lists;
