-- migration: 0001_keys
CREATE TABLE keys (id INTEGER PRIMARY KEY, hash BLOB NOT NULL CHECK (length(hash) = 32), name TEXT NOT NULL);
-- migration: 0002_names
CREATE TABLE names (name TEXT NOT NULL CHECK (length(name) = 3));
INSERT INTO names SELECT name FROM keys;  -- expect: may-violate-check
