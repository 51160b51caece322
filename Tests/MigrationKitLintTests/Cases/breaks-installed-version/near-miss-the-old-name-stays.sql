-- The old name stays as a view, which the installed version can read and write. That it needs no more
-- than that, only the author knows.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_documents
-- migrate:older works
ALTER TABLE notes RENAME TO documents;
CREATE VIEW notes AS SELECT id, title FROM documents;
CREATE TRIGGER notes_insert INSTEAD OF INSERT ON notes BEGIN
    INSERT INTO documents (id, title) VALUES (new.id, new.title);
END;
CREATE TRIGGER notes_update INSTEAD OF UPDATE ON notes BEGIN
    UPDATE documents SET title = new.title WHERE id = old.id;
END;
CREATE TRIGGER notes_delete INSTEAD OF DELETE ON notes BEGIN
    DELETE FROM documents WHERE id = old.id;
END;
