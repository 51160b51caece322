-- The trigger follows the rename of a column, whose name needs quotes.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE log (what);
CREATE TRIGGER changed AFTER UPDATE OF body ON notes BEGIN
    INSERT INTO log VALUES (new.body);
END;
-- migration: 0002_text
-- expect: breaks-installed-version
ALTER TABLE notes RENAME COLUMN body TO "the text";
