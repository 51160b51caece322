-- Each DROP COLUMN writes the whole table anew.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT, size INTEGER, font TEXT);
-- migration: 0002_plain
-- expect in migration: many-alters
-- expect in migration: drop-column
-- expect in migration: breaks-installed-version
ALTER TABLE notes DROP COLUMN color;
ALTER TABLE notes DROP COLUMN size;
ALTER TABLE notes DROP COLUMN font;
