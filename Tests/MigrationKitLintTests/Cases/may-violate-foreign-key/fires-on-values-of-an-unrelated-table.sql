-- Both tables happen to know the same names in a generated database, and not in every other.
-- migration: 0001_shelves
CREATE TABLE shelves (uid TEXT PRIMARY KEY NOT NULL);
CREATE TABLE books (id INTEGER PRIMARY KEY, uid TEXT NOT NULL REFERENCES shelves (uid));
CREATE TABLE settings (uid TEXT NOT NULL, title TEXT);
-- migration: 0002_books
-- expect: may-violate-foreign-key warning
INSERT INTO books (uid) SELECT uid FROM settings WHERE title IS NOT NULL;
