-- The schema table may be read like any other.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE schema_log (name TEXT);
INSERT INTO schema_log SELECT name FROM sqlite_schema WHERE rootpage > 0;
