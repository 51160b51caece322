-- https://github.com/cloudflare/workers-sdk/issues/5438
-- D1 runs every file in a transaction with foreign keys on. Rebuilding table a deleted all records
-- of table b, with or without the pragmas.
-- foreign-keys: immediate
-- migration: 0001_init
CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE b (id INTEGER PRIMARY KEY, a_id INTEGER REFERENCES a (id) ON DELETE CASCADE);
CREATE INDEX b_a ON b (a_id);
-- migration: 0002_rebuild
-- expect in migration: breaks-installed-version
-- expect in migration: no-effect-in-transaction
-- expect in migration: cascade-deletes
PRAGMA foreign_keys = OFF;
CREATE TABLE a_temp (id INTEGER PRIMARY KEY, name TEXT DEFAULT '');
INSERT INTO a_temp SELECT * FROM a;
DROP TABLE a;
ALTER TABLE a_temp RENAME TO a;
PRAGMA foreign_keys = ON;
