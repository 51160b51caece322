-- Two notes that aren't deleted may have the same title.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, deleted INTEGER NOT NULL DEFAULT 0);
-- migration: 0002_unique_title
-- expect in migration: breaks-installed-version
-- expect: may-violate-unique
CREATE UNIQUE INDEX notes_title ON notes (title) WHERE deleted = 0;
