-- What differs still differs.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
-- migration: 0002_prefix
UPDATE users SET email = 'mailto:' || email;
