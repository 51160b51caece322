-- The next migration drops the trigger that no longer works.
-- migration: 0001_tables
CREATE TABLE counts (id INTEGER PRIMARY KEY, n INTEGER);
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE TRIGGER notes_count AFTER INSERT ON notes BEGIN UPDATE counts SET n = n + 1; END;
-- migration: 0002_drop
-- expect in migration: breaks-installed-version
-- expect in migration: drop-table
-- expect in migration: dangling-reference warning
DROP TABLE counts;
-- migration: 0003_drop_trigger
DROP TRIGGER notes_count;
