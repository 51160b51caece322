-- Each statement may run again, so the migration may be interrupted anywhere.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
-- migration: 0002_indexes transaction:false
CREATE INDEX IF NOT EXISTS notes_title ON notes (title);
CREATE INDEX IF NOT EXISTS notes_color ON notes (color);
UPDATE notes SET color = 'white' WHERE color IS NULL;
ANALYZE;
