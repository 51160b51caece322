-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
INSERT INTO tags (name) VALUES ('done');
-- down:
DROP TABLE tags;
-- migration: 0002_seed
INSERT INTO tags (name) VALUES ('urgent');
INSERT OR IGNORE INTO tags (name) VALUES ('done');
-- down:
DELETE FROM tags WHERE name = 'urgent';
