-- migration: 0001_notes
CREATE TABLE books (id INTEGER PRIMARY KEY);
CREATE TABLE notes (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES books (id));
-- migration: 0002_positive
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES books (id) CHECK (book_id > 0));
INSERT INTO new (id, book_id) SELECT id, book_id FROM notes;  -- expect: may-violate-check
DROP TABLE notes;
ALTER TABLE new RENAME TO notes;
