-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, kind INTEGER);
-- migration: 0002_untitled
UPDATE notes SET title = 'untitled' WHERE kind > 0 OR kind <= 0;  -- expect: update-without-where
