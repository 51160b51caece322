-- It looks at the items, and deletes lists that have some.
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
-- expect: delete-without-cascade
DELETE FROM lists WHERE id IN (SELECT list_id FROM items);
