-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
CREATE TABLE log (color TEXT);
CREATE TRIGGER notes_log AFTER DELETE ON notes BEGIN
    INSERT INTO log VALUES (old.color);
END;
-- migration: 0002_no_color
ALTER TABLE notes DROP COLUMN color;  -- expect: drop-column-fails
