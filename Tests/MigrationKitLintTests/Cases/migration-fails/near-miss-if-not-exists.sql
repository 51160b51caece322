-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_notes
CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT);
