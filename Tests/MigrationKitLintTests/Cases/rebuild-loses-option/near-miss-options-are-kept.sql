-- STRICT, WITHOUT ROWID and AUTOINCREMENT are kept, with AUTOINCREMENT's mark.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT) STRICT;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT) STRICT, WITHOUT ROWID;
-- migration: 0002_color
CREATE TABLE new_notes (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, color TEXT) STRICT;
INSERT INTO new_notes (id, title) SELECT id, title FROM notes;
DELETE FROM sqlite_sequence WHERE name = 'new_notes';
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_notes', seq FROM sqlite_sequence
    WHERE name = 'notes';
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE TABLE new_settings (name TEXT PRIMARY KEY, value TEXT, changed INTEGER)
    STRICT, WITHOUT ROWID;
INSERT INTO new_settings (name, value) SELECT name, value FROM settings;
DROP TABLE settings;
ALTER TABLE new_settings RENAME TO settings;
