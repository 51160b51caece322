-- migration: 0001_users
CREATE TABLE users (name TEXT PRIMARY KEY);
CREATE TABLE lists (id INTEGER PRIMARY KEY, owner TEXT REFERENCES users (name));
CREATE INDEX lists_owner ON lists (owner);
-- migration: 0002_required
-- expect in migration: may-violate-not-null
-- expect in migration: breaks-installed-version
CREATE TABLE new (name TEXT NOT NULL PRIMARY KEY);
INSERT INTO new (name) SELECT name FROM users;
DROP TABLE users;
ALTER TABLE new RENAME TO users;
