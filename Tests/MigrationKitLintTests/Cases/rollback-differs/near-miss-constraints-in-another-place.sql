-- The rollback writes the constraints at the table instead of at the columns.
-- migration: 0001_notes
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    title TEXT DEFAULT NULL UNIQUE CHECK (title <> ''),
    parent INTEGER REFERENCES notes (id)
);
CREATE INDEX notes_parent ON notes (parent);
-- down:
DROP TABLE notes;
-- migration: 0002_color
ALTER TABLE notes ADD COLUMN color TEXT;
-- down:
CREATE TABLE new_notes (
    id INTEGER,
    title text,
    parent integer,
    FOREIGN KEY (parent) REFERENCES new_notes (id),
    CHECK (("title" != '')),
    UNIQUE (title),
    PRIMARY KEY (id)
);
INSERT INTO new_notes (id, title, parent) SELECT id, title, parent FROM notes;
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
CREATE INDEX "notes_parent" ON notes ("parent" ASC);
