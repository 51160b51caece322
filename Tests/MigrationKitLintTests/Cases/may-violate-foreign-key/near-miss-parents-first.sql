-- Each of these writes has its parents: they are made, also afterwards, asked for, known by a key, or what has
-- none is removed.
-- migration: 0001_shelves
CREATE TABLE shelves (uid TEXT PRIMARY KEY NOT NULL);
CREATE TABLE books (id INTEGER PRIMARY KEY, uid TEXT NOT NULL REFERENCES shelves (uid));
CREATE TABLE loans (id INTEGER PRIMARY KEY, shelf TEXT NOT NULL REFERENCES shelves (uid));
CREATE TABLE settings (uid TEXT NOT NULL, title TEXT);
INSERT INTO shelves (uid) VALUES ('the first');
-- migration: 0002_made
INSERT OR IGNORE INTO shelves (uid) SELECT uid FROM settings;
INSERT INTO books (uid) SELECT uid FROM settings WHERE title IS NOT NULL;
-- migration: 0003_asked_for
INSERT INTO books (uid) SELECT settings.uid FROM settings JOIN shelves USING (uid);
INSERT INTO books (uid) SELECT uid FROM settings WHERE uid IN (SELECT uid FROM shelves);
-- migration: 0004_known
INSERT INTO books (uid) SELECT shelf FROM loans;
INSERT INTO books (uid) SELECT uid FROM shelves;
-- migration: 0005_a_seed
INSERT INTO books (uid) SELECT 'the first' FROM settings WHERE title IS NOT NULL;
-- migration: 0006_removed
INSERT INTO books (uid) SELECT uid FROM settings;
DELETE FROM books WHERE uid NOT IN (SELECT uid FROM shelves);
-- migration: 0007_made_afterwards
INSERT INTO books (uid) SELECT uid FROM settings WHERE title IS NOT NULL;
INSERT OR IGNORE INTO shelves (uid) SELECT DISTINCT uid FROM books;
-- migration: 0008_a_seed_afterwards
INSERT INTO books (uid) SELECT 'the last' FROM settings WHERE title IS NOT NULL;
INSERT INTO shelves (uid) VALUES ('the last');
