-- A partial index becomes a full one: deleted notes are in it, too.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, deleted INTEGER NOT NULL DEFAULT 0);
CREATE INDEX notes_title ON notes (title) WHERE deleted = 0;
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (
    id INTEGER PRIMARY KEY, title TEXT DEFAULT '', deleted INTEGER NOT NULL DEFAULT 0
);
INSERT INTO new_notes (id, title, deleted) SELECT id, title, deleted FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- expect in migration: rebuild-loses-index warning
CREATE INDEX notes_title ON notes (title);
