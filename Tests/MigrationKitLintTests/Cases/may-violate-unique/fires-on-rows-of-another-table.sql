-- Both tables count from 1.
-- migration: 0001_boxes
CREATE TABLE inbox (id INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE outbox (id INTEGER PRIMARY KEY, text TEXT);
-- migration: 0002_one_box
-- expect in migration: breaks-installed-version
INSERT INTO inbox (id, text) SELECT id, text FROM outbox;  -- expect: may-violate-unique
DROP TABLE outbox;
