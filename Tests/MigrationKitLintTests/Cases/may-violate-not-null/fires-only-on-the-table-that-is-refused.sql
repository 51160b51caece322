-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE lists (id INTEGER PRIMARY KEY, user_id INTEGER);
-- migration: 0002_uuids
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
ALTER TABLE users ADD COLUMN uuid TEXT;
UPDATE users SET uuid = lower(hex(randomblob(16)));
ALTER TABLE lists ADD COLUMN user_uuid TEXT;
UPDATE lists SET user_uuid = (SELECT uuid FROM users WHERE id = lists.user_id);
CREATE TABLE users_new (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
INSERT INTO users_new SELECT uuid, name FROM users;  -- expect: rebuild-loses-column warning
DROP TABLE users;
ALTER TABLE users_new RENAME TO users;
CREATE TABLE lists_new (id INTEGER PRIMARY KEY, user_id TEXT NOT NULL);
-- expect: rebuild-loses-column warning
INSERT INTO lists_new SELECT id, user_uuid FROM lists;  -- expect: may-violate-not-null
DROP TABLE lists;
ALTER TABLE lists_new RENAME TO lists;
