-- Databases that have applied the old text never see the new column.
-- published: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0001_notes
-- expect in migration: migration-changed
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
