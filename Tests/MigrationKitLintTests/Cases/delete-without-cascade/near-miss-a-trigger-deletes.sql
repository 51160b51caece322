-- A trigger does what a cascade would.
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
CREATE TRIGGER lists_items AFTER DELETE ON lists BEGIN
    DELETE FROM items WHERE list_id = old.id;
END;
-- migration: 0003_no_archive
DELETE FROM lists WHERE archived = 1;
