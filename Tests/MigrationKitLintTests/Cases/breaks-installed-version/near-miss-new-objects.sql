-- Nothing that was there is another, and nothing new refuses what the installed version writes.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_tags
CREATE TABLE tags (id INTEGER PRIMARY KEY, note INTEGER REFERENCES notes (id) ON DELETE CASCADE);
CREATE INDEX tags_note ON tags (note);
CREATE INDEX notes_title ON notes (title);
ALTER TABLE notes ADD COLUMN size INTEGER;
UPDATE notes SET size = length(title) WHERE title IS NOT NULL;
INSERT INTO notes (title, size) VALUES ('Welcome', 7);
