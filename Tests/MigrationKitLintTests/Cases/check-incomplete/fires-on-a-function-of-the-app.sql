-- Only the app has this function, so nothing after it can be judged.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT);
-- migration: 0002_stems
UPDATE notes SET title = stem_of_a_word(title) WHERE id > 0;  -- expect: check-incomplete
