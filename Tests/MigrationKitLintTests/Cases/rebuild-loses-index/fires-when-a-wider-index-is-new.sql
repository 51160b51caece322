-- The new index has the column, too, but not as its first one.
-- migration: 0001_logs
CREATE TABLE logs (id INTEGER PRIMARY KEY, run INTEGER, inserted INTEGER);
CREATE INDEX logs_inserted ON logs (inserted);
-- migration: 0002_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_logs (id INTEGER PRIMARY KEY, run INTEGER DEFAULT 0, inserted INTEGER);
INSERT INTO new_logs (id, run, inserted) SELECT id, run, inserted FROM logs;
-- expect in migration: rebuild-loses-index warning
DROP TABLE logs;
ALTER TABLE new_logs RENAME TO logs;
CREATE INDEX logs_run ON logs (run, inserted);
