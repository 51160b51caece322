-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- down:
-- expect in migration: rollback-differs
DROP TABLE note;
