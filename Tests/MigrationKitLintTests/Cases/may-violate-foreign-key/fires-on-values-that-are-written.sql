-- migration: 0001_notes
CREATE TABLE folders (id INTEGER PRIMARY KEY);
CREATE TABLE notes (id INTEGER PRIMARY KEY, former INTEGER, folder INTEGER REFERENCES folders (id));
CREATE INDEX notes_folder ON notes (folder);
-- migration: 0002_folder
UPDATE notes SET folder = former WHERE folder IS NOT NULL;  -- expect: may-violate-foreign-key
