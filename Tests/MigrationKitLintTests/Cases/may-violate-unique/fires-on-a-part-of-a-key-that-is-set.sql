-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL, book TEXT, UNIQUE (name, book));
-- migration: 0002_empty
UPDATE tags SET book = '' WHERE book IS NULL;  -- expect: may-violate-unique
