-- The form of the text says what it is. Everyone who can read the repository has it.
-- migration: 0001_settings
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
-- migration: 0002_push
-- expect: secret-in-migration
INSERT INTO settings (name, value) VALUES ('push', 'ghp_0123456789abcdefghijABCDEFGHIJ012345');
