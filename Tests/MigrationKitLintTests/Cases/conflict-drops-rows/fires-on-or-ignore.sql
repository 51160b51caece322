-- Users who share an address disappear: OR IGNORE skips all but the first.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
-- migration: 0002_unique_email
-- expect in migration: breaks-installed-version
CREATE TABLE new_users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
-- expect in migration: conflict-drops-rows
INSERT OR IGNORE INTO new_users (id, email) SELECT id, email FROM users;
DROP TABLE users;
ALTER TABLE new_users RENAME TO users;
