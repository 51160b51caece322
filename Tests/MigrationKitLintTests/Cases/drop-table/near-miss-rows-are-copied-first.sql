-- The rows move to another table before the old one is dropped.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_documents
CREATE TABLE documents (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
INSERT INTO documents (id, title) SELECT id, title FROM notes;
-- expect: breaks-installed-version
DROP TABLE notes;
