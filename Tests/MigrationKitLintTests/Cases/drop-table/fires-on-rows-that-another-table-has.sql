-- The second table's rows have the numbers of the first one's.
-- migration: 0001_boxes
CREATE TABLE inbox (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE outbox (id INTEGER PRIMARY KEY, text TEXT);
-- migration: 0002_one_box
-- expect in migration: breaks-installed-version
CREATE TABLE box (id INTEGER PRIMARY KEY, text TEXT);
INSERT INTO box SELECT id, text FROM inbox;
INSERT OR IGNORE INTO box SELECT id, text FROM outbox;  -- expect: drop-table
DROP TABLE inbox;
DROP TABLE outbox;
