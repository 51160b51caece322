-- migration: 0001_notes
CREATE TABLE "my.notes" (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_unique
CREATE TABLE new (id INTEGER PRIMARY KEY, title TEXT);
INSERT INTO new SELECT id, title FROM "my.notes";
DROP TABLE "my.notes";
ALTER TABLE new RENAME TO "my.notes";
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX my_title ON "my.notes" (title);  -- expect: may-violate-unique
