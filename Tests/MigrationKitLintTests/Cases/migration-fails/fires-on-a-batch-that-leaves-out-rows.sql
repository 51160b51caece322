-- Which of several rows of one state is kept depends on their order.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_states
CREATE TABLE states (name TEXT PRIMARY KEY, example TEXT);
-- migration: 0003_states
-- migrate:batch
INSERT OR IGNORE INTO states (name, example) SELECT state, body FROM notes;  -- expect: migration-fails
