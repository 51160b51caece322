-- The table is this migration's own.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_seed
CREATE TABLE colors (name TEXT NOT NULL);
INSERT INTO colors VALUES ('red');
DELETE FROM colors;
INSERT INTO colors VALUES ('green');
