-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, locked INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER notes_locked BEFORE UPDATE ON notes WHEN old.locked = 1
BEGIN
    SELECT RAISE(ABORT, 'locked');
END;
-- migration: 0002_slug
ALTER TABLE notes ADD COLUMN slug TEXT;
UPDATE notes SET slug = lower(title);  -- expect: migration-fails warning
