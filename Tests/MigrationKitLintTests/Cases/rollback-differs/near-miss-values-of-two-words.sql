-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, is_admin TEXT NOT NULL DEFAULT 'f');
-- migration: 0002_role
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
-- expect in migration: rebuild-loses-rows warning
CREATE TABLE new (id INTEGER PRIMARY KEY, role INTEGER NOT NULL DEFAULT 2);
INSERT INTO new SELECT id, 0 FROM users WHERE is_admin = 't';
INSERT INTO new SELECT id, 2 FROM users WHERE is_admin = 'f';
DROP TABLE users;
ALTER TABLE new RENAME TO users;
-- down:
CREATE TABLE old (id INTEGER PRIMARY KEY, is_admin TEXT NOT NULL DEFAULT 'f');
INSERT INTO old SELECT id, 't' FROM users WHERE role = 0;
INSERT INTO old SELECT id, 'f' FROM users WHERE role <> 0;
DROP TABLE users;
ALTER TABLE old RENAME TO users;
