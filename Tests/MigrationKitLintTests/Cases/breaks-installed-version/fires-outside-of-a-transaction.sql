-- The runner doesn't judge it, so the installed version is refused.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_titles transaction:false
-- expect in migration: breaks-installed-version note
CREATE INDEX IF NOT EXISTS notes_title ON notes (title);
