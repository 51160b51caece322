-- An ordinary table, whatever its name.
-- migration: 0001_notes
CREATE TABLE temp_notes (id INTEGER PRIMARY KEY, title TEXT);
