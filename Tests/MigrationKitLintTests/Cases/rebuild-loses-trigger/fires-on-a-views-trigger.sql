-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE VIEW texts AS SELECT id, body FROM notes;
CREATE TRIGGER written INSTEAD OF INSERT ON texts BEGIN
    INSERT INTO notes (id, body) VALUES (new.id, new.body);
END;
-- migration: 0002_texts
-- expect in migration: breaks-installed-version
DROP VIEW texts;  -- expect: rebuild-loses-trigger warning
CREATE VIEW texts AS SELECT id, body, upper(body) AS loud FROM notes;
