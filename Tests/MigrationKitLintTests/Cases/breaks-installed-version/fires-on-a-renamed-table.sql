-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_documents
ALTER TABLE notes RENAME TO documents;  -- expect: breaks-installed-version
