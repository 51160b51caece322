-- The table has it already. Taking it away would give out ids again.
-- migration: 0001_notes
-- migrationkit:allow needless-autoincrement other devices remember the ids of deleted notes
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT);
-- migration: 0002_title_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT DEFAULT '');
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DELETE FROM sqlite_sequence WHERE name = 'new_notes';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_notes', seq FROM sqlite_sequence
    WHERE name = 'notes';
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
