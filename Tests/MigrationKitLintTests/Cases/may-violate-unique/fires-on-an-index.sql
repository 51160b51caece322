-- Two users may have the same address. Then the migration fails on their database only.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
-- migration: 0002_unique_email
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX users_email ON users (email);  -- expect: may-violate-unique
