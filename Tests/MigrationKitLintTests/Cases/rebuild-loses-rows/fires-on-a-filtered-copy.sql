-- Only some rows are copied, and the others end with the old table.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, archived INTEGER NOT NULL DEFAULT 0);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (
    id INTEGER PRIMARY KEY, title TEXT DEFAULT '', archived INTEGER NOT NULL DEFAULT 0
);
-- expect in migration: rebuild-loses-rows warning
INSERT INTO new_notes (id, title, archived)
    SELECT id, title, archived FROM notes WHERE title IS NOT NULL AND archived = 1;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
