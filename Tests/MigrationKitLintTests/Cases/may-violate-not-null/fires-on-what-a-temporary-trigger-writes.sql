-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE titles (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
-- migration: 0002_titles
-- expect in migration: temporary-object warning
CREATE TEMP TRIGGER fill AFTER UPDATE ON notes BEGIN INSERT INTO titles (title) VALUES (new.title); END;
UPDATE notes SET title = lower(title);  -- expect: may-violate-not-null
DROP TRIGGER fill;
