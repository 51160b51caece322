-- The children are deleted first, as the cascade would.
-- migration: 0001_lists
CREATE TABLE lists (id INTEGER PRIMARY KEY, archived INTEGER NOT NULL DEFAULT 0);
CREATE TABLE items (
    id INTEGER PRIMARY KEY,
    list_id INTEGER NOT NULL REFERENCES lists (id) ON DELETE CASCADE
);
CREATE INDEX items_list ON items (list_id);
-- migration: 0002_no_archive
DELETE FROM items WHERE list_id IN (SELECT id FROM lists WHERE archived = 1);
DELETE FROM lists WHERE archived = 1;
