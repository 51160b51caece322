-- The columns are unique already: one is a key, and the other is new and empty.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
-- migration: 0002_indexes
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX users_email ON users (email, id);
ALTER TABLE users ADD COLUMN slug TEXT;
CREATE UNIQUE INDEX users_slug ON users (slug);
