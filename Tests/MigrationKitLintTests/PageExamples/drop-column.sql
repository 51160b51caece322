-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
CREATE TABLE note_colors (note_id INTEGER PRIMARY KEY, color TEXT);
-- rows
INSERT INTO notes (title, color) VALUES ('a', 'red'), (NULL, NULL), ('a', 'red');
-- example 1: finds
-- example 2: keeps
-- then: SELECT notes.id, title, note_colors.color FROM notes LEFT JOIN note_colors ON note_id = notes.id
--   1|a|red
--   2|NULL|NULL
--   3|a|red
