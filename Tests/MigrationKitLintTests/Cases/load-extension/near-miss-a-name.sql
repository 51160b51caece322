-- Only a name and a text.
-- migration: 0001_extension
CREATE TABLE load_extension (name TEXT);
INSERT INTO load_extension VALUES ('load_extension(1)');
