-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE lists (id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE);
CREATE INDEX lists_owner ON lists (owner);
CREATE TABLE items (id INTEGER PRIMARY KEY, list INTEGER REFERENCES lists (id) ON DELETE RESTRICT);
CREATE INDEX items_list ON items (list);
-- migration: 0002_nocase
-- expect in migration: may-violate-unique
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE);
INSERT INTO new (id, name) SELECT id, name FROM users;
DROP TABLE users;
ALTER TABLE new RENAME TO users;
