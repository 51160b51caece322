-- Each batch runs twice, so that what was changed isn't changed once more.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_prices
-- migrate:batch
UPDATE notes SET size = size * 100 WHERE size > 0;  -- expect: not-repeatable error
