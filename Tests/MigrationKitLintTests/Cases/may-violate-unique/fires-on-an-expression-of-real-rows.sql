-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
-- migration: 0002_unique_email
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX users_email ON users (email COLLATE NOCASE);
-- migration: 0003_unique_email
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX users_lower ON users (substr(email, 1, 3));  -- expect: may-violate-unique error
-- database: 0002_unique_email
INSERT INTO users (email) VALUES ('ada@example.com'), ('adam@example.com');
