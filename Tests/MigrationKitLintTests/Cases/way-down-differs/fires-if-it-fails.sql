-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- down:
-- expect in migration: way-down-differs
DROP TABLE note;
