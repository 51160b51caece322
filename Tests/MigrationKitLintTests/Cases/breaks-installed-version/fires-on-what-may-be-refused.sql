-- The installed version may write what the new objects refuse, or another version's rows.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, body TEXT);
CREATE INDEX notes_title ON notes (title);
-- migration: 0002_titles
-- expect: may-violate-unique
CREATE UNIQUE INDEX notes_by_title ON notes (title);  -- expect: breaks-installed-version
CREATE TRIGGER notes_body AFTER INSERT ON notes
WHEN json_extract(new.body, '$.a') = 1  -- expect: breaks-installed-version
BEGIN
    SELECT 1;
END;
-- expect: breaks-installed-version note
DROP INDEX notes_title;
-- expect: breaks-installed-version note
UPDATE notes SET body = trim(body) WHERE body IS NOT NULL;
-- expect: breaks-installed-version
PRAGMA user_version = 2;
