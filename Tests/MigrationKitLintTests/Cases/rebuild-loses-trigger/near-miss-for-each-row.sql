-- Every trigger of SQLite is FOR EACH ROW, whether it says so or not.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, changed INTEGER);
CREATE TRIGGER notes_changed AFTER UPDATE OF title ON notes FOR EACH ROW
BEGIN UPDATE notes SET changed = 1 WHERE id = new.id; END;
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '', changed INTEGER);
INSERT INTO new_notes (id, title, changed) SELECT id, title, changed FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE TRIGGER notes_title_changed AFTER UPDATE OF title ON notes
BEGIN UPDATE notes SET changed = 1 WHERE id = new.id; END;
