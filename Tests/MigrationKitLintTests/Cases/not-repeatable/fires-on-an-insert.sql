-- Interrupted after it, the migration runs again and inserts the row a second time.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_welcome transaction:false
INSERT INTO notes (title) VALUES ('Welcome');  -- expect: not-repeatable
