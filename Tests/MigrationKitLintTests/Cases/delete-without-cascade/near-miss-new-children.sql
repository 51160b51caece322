-- The children are a table without rows.
-- migration: 0001_lists
CREATE TABLE lists (
    id INTEGER PRIMARY KEY, code TEXT UNIQUE, archived INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE items (
    id INTEGER PRIMARY KEY, done INTEGER NOT NULL DEFAULT 0,
    list_id INTEGER NOT NULL REFERENCES lists (id)
);
CREATE INDEX items_list ON items (list_id);
-- migration: 0002_change
-- expect in migration: breaks-installed-version
CREATE TABLE tags (id INTEGER PRIMARY KEY, code TEXT REFERENCES lists (code));
CREATE INDEX tags_code ON tags (code);
DELETE FROM items;  -- expect: delete-without-where
DELETE FROM lists WHERE archived = 1;
