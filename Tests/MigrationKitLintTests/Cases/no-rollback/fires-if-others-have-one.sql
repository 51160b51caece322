-- The other migration can be undone, so this one should be, too.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- down:
DROP TABLE notes;
-- migration: 0002_color
-- expect in migration: no-rollback
ALTER TABLE notes ADD COLUMN color TEXT;
