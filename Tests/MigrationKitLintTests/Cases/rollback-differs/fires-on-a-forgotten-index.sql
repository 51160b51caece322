-- The rollback leaves the index behind.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- down:
DROP TABLE notes;
-- migration: 0002_size
-- expect in migration: rollback-differs
ALTER TABLE notes ADD COLUMN size INTEGER;
CREATE INDEX notes_title ON notes (title);
-- down:
ALTER TABLE notes DROP COLUMN size;
