-- The rollback forgets what happens to a second row with the same title.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT UNIQUE ON CONFLICT REPLACE);
-- down:
DROP TABLE notes;
-- migration: 0002_color
-- expect in migration: rollback-differs
ALTER TABLE notes ADD COLUMN color TEXT;
-- down:
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT UNIQUE);
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
