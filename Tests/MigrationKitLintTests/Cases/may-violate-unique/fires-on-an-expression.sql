-- Two addresses may differ only in their case.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
-- migration: 0002_unique_email
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX users_email ON users (lower(email));  -- expect: may-violate-unique
