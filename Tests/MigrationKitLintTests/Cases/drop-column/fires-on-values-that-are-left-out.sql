-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, stars INTEGER);
-- migration: 0002_rating
-- expect in migration: breaks-installed-version
ALTER TABLE notes ADD COLUMN rating INTEGER;
UPDATE notes SET rating = stars WHERE stars > 0;  -- expect: drop-column
ALTER TABLE notes DROP COLUMN stars;
