-- Something may have stored its rowids; those of a table with an index stay today.
-- migration: 0001_notes
CREATE TABLE notes (body TEXT);
CREATE TABLE tags (name TEXT PRIMARY KEY, note INTEGER);
-- migration: 0002_compact transaction:false
-- expect: vacuum-renumbers-rows warning
-- expect: vacuum-renumbers-rows note
VACUUM;
