-- SQLite drops the column although the trigger sets it. From now on every new title fails.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, changed INTEGER);
CREATE TRIGGER notes_changed AFTER UPDATE OF title ON notes BEGIN
    UPDATE notes SET changed = unixepoch() WHERE id = new.id;
END;
-- migration: 0002_no_changed
-- expect: drop-column
-- expect: dangling-reference
-- expect: breaks-installed-version
ALTER TABLE notes DROP COLUMN changed;
