-- Lists that have items stay.
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
DELETE FROM lists WHERE id NOT IN (SELECT list_id FROM items);
DELETE FROM lists WHERE (SELECT count(*) FROM items WHERE list_id = lists.id) = 0;
