-- A batch sees the batches before it through the view.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_sizes
CREATE VIEW sizes AS SELECT state, max(size) AS size FROM notes GROUP BY state;
-- migration: 0003_fill
-- migrate:batch
UPDATE notes SET size = (SELECT s.size FROM sizes AS s WHERE s.state = notes.state) WHERE size IS NULL;  -- expect: migration-fails
