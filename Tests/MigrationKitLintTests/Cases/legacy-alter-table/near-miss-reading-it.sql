-- Asking for the setting changes nothing.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
PRAGMA legacy_alter_table;
