-- In this database it does fail, so the warning is an error.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
-- migration: 0002_unique_email
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX users_email ON users (email);  -- expect: may-violate-unique error
-- database: 0001_users
INSERT INTO users (email) VALUES ('ada@example.com'), ('ada@example.com'), ('bo@example.com');
