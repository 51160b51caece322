-- migration: 0001_events
CREATE TABLE chunks (id INTEGER NOT NULL, room TEXT NOT NULL, UNIQUE (id, room));
CREATE TABLE events (
    id INTEGER PRIMARY KEY, chunk INTEGER NOT NULL, room TEXT NOT NULL, name TEXT,
    FOREIGN KEY (chunk, room) REFERENCES chunks (id, room)
);
CREATE INDEX events_chunk ON events (chunk, room);
-- migration: 0002_unique
-- expect in migration: breaks-installed-version
CREATE UNIQUE INDEX names ON events (name, room);  -- expect: may-violate-unique
