-- The search finds notes by rowids that they don't have any more.
-- migration: 0001_notes
CREATE TABLE notes (title TEXT, body TEXT);
CREATE VIRTUAL TABLE search USING fts5 (title, body, content='notes');
CREATE VIRTUAL TABLE older USING fts4 (content="Notes", title);
-- migration: 0002_compact transaction:false
-- expect: vacuum-renumbers-rows
VACUUM;
