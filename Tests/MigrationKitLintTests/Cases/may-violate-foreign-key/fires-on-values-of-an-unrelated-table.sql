-- Both tables happen to know the same names in a generated database, and not in every other.
-- migration: 0001_shelves
CREATE TABLE shelves (uid TEXT PRIMARY KEY NOT NULL);
CREATE TABLE books (id INTEGER PRIMARY KEY, uid TEXT NOT NULL REFERENCES shelves (uid), note TEXT);
CREATE INDEX books_uid ON books (uid);
CREATE TABLE settings (uid TEXT NOT NULL, title TEXT);
-- migration: 0002_books
-- expect: may-violate-foreign-key warning
INSERT INTO books (uid) SELECT uid FROM settings WHERE title IS NOT NULL;
-- migration: 0003_only_the_second
INSERT INTO books (uid) SELECT settings.uid FROM settings JOIN shelves USING (uid);
-- expect: may-violate-foreign-key warning
INSERT OR IGNORE INTO books (uid) SELECT uid FROM settings WHERE title IS NOT NULL;
UPDATE books SET note = (SELECT title FROM settings WHERE settings.uid = books.uid) WHERE note IS NULL;
