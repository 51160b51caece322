-- Two addresses may differ only in their case.
-- migration: 0001_users
CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE);
-- migration: 0002_lower
UPDATE users SET email = lower(email) WHERE email <> lower(email);  -- expect: may-violate-unique
