-- Nothing refers to the changed column.
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
UPDATE lists SET code = 'L' || id WHERE archived = 1;
