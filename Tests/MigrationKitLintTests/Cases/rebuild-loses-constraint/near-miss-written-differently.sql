-- The same constraints, as constraints of the table.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, email TEXT UNIQUE CHECK (email <> ''));
-- migration: 0002_color
-- expect in migration: breaks-installed-version
CREATE TABLE new_notes (
    id INTEGER, email TEXT, color TEXT,
    PRIMARY KEY (id),
    UNIQUE (email),
    CHECK (email <> '')
);
INSERT INTO new_notes (id, email) SELECT id, email FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
