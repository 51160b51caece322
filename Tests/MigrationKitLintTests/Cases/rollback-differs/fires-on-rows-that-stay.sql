-- migration: 0001_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- down:
DROP TABLE tags;
-- migration: 0002_seed
CREATE TABLE colors (id INTEGER PRIMARY KEY);
INSERT INTO tags (name) VALUES ('urgent');
-- down:
DROP TABLE colors;  -- expect: rollback-differs
