CREATE TABLE changes (at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, text TEXT);
CREATE TRIGGER recipes_changed AFTER UPDATE OF title ON recipes
WHEN old.title IS NOT new.title
BEGIN
    -- The old title; the new one
-- down
    INSERT INTO changes (text) VALUES (CASE WHEN old.title = '' THEN ';' ELSE old.title END);
    DELETE FROM changes WHERE rowid < (SELECT max(rowid) - 99 FROM changes);
END;
CREATE VIEW [recent; recipes] AS
    SELECT title /* ; */ FROM recipes ORDER BY id DESC LIMIT 10;
UPDATE recipes SET title = upper(title) WHERE id = 1;
