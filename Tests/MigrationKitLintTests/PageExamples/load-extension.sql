-- tables
-- example 1: finds
-- example 2: keeps
-- after
INSERT INTO words (word) VALUES ('milk'), (NULL);
-- then: SELECT rowid FROM words WHERE words MATCH 'milk'
--   1
