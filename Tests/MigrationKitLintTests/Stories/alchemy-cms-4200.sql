-- https://github.com/AlchemyCMS/alchemy_cms/pull/4200
-- Making a new column of alchemy_pages NOT NULL emptied alchemy_page_versions, alchemy_elements and
-- alchemy_ingredients in production.
-- foreign-keys: immediate
-- migration: 20250101000000_init
CREATE TABLE alchemy_pages (id integer PRIMARY KEY, name varchar);
CREATE TABLE alchemy_page_versions (
    id integer PRIMARY KEY,
    page_id integer NOT NULL REFERENCES alchemy_pages (id) ON DELETE CASCADE
);
CREATE INDEX page_versions_page ON alchemy_page_versions (page_id);
CREATE TABLE alchemy_elements (
    id integer PRIMARY KEY,
    page_version_id integer NOT NULL REFERENCES alchemy_page_versions (id) ON DELETE CASCADE
);
CREATE INDEX elements_page_version ON alchemy_elements (page_version_id);
CREATE TABLE alchemy_ingredients (
    id integer PRIMARY KEY,
    element_id integer NOT NULL REFERENCES alchemy_elements (id) ON DELETE CASCADE
);
CREATE INDEX ingredients_element ON alchemy_ingredients (element_id);
-- migration: 20260824000000_add_cached_tag_list
-- expect in migration: no-effect-in-transaction
-- expect in migration: cascade-deletes
-- expect in migration: breaks-installed-version
ALTER TABLE alchemy_pages ADD COLUMN cached_tag_list text;
UPDATE alchemy_pages SET cached_tag_list = '[]';
PRAGMA foreign_keys = OFF;
CREATE TABLE new_alchemy_pages (
    id integer PRIMARY KEY, name varchar, cached_tag_list text NOT NULL
);
INSERT INTO new_alchemy_pages (id, name, cached_tag_list)
    SELECT id, name, cached_tag_list FROM alchemy_pages;
DROP TABLE alchemy_pages;
ALTER TABLE new_alchemy_pages RENAME TO alchemy_pages;
PRAGMA foreign_keys = ON;
