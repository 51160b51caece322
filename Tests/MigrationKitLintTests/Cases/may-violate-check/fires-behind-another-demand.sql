-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, stars REAL);
-- migration: 0002_short
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, title TEXT CHECK (length(title) < 10), stars INTEGER) STRICT;
-- expect in migration: may-violate-check
-- expect in migration: may-violate-strict
-- expect in migration: narrows-type
INSERT INTO new (id, title, stars) SELECT id, title, stars FROM notes;
DROP TABLE notes;
ALTER TABLE new RENAME TO notes;
