-- Only one row of each address is left when the index is made.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
-- migration: 0002_unique_email
-- expect in migration: breaks-installed-version
DELETE FROM users WHERE id NOT IN (SELECT min(id) FROM users GROUP BY email);
CREATE UNIQUE INDEX users_email ON users (email);
