-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, stars INTEGER, link TEXT NOT NULL, isDone INTEGER NOT NULL DEFAULT 0);
-- migration: 0002_rating
-- expect in migration: breaks-installed-version
ALTER TABLE notes ADD COLUMN rating INTEGER;
ALTER TABLE notes ADD COLUMN target TEXT;
ALTER TABLE notes ADD COLUMN state TEXT NOT NULL DEFAULT 'open';
UPDATE notes SET rating = stars WHERE stars IS NOT NULL;
UPDATE notes SET target = link WHERE link <> '';
UPDATE notes SET state = 'finished' WHERE isDone;
ALTER TABLE notes DROP COLUMN stars;
ALTER TABLE notes DROP COLUMN link;
ALTER TABLE notes DROP COLUMN isDone;
