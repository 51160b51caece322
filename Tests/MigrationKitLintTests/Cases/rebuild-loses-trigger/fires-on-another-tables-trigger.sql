-- The trigger of another table names the rebuilt one. It must go before the rebuild, but comes
-- back never.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE items (id INTEGER PRIMARY KEY, title TEXT);
CREATE TRIGGER items_note AFTER INSERT ON items BEGIN
    INSERT INTO notes (title) VALUES (new.title);
END;
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
-- expect in migration: rebuild-loses-trigger warning
DROP TRIGGER items_note;
CREATE TABLE new_notes (id INTEGER PRIMARY KEY, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
