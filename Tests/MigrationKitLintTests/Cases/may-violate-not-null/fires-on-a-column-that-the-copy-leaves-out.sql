-- migration: 0001_jobs
CREATE TABLE jobs (id INTEGER PRIMARY KEY, kind TEXT NOT NULL);
-- migration: 0002_name
-- expect in migration: may-violate-not-null
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL);
INSERT INTO new (id, kind) SELECT id, kind FROM jobs;
DROP TABLE jobs;
ALTER TABLE new RENAME TO jobs;
