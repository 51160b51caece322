-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, color TEXT);
-- down:
DROP TABLE notes;
-- migration: 0002_colors
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
CREATE TABLE colors (note INTEGER PRIMARY KEY REFERENCES notes (id), color TEXT);
INSERT INTO colors SELECT id, color FROM notes;
ALTER TABLE notes DROP COLUMN color;
-- down:
ALTER TABLE notes ADD COLUMN color TEXT;
UPDATE notes SET color = (SELECT color FROM colors WHERE note = id);
DROP TABLE colors;
