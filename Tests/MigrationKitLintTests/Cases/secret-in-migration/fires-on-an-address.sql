-- The password is a part of the address.
-- migration: 0001_settings
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
-- migration: 0002_server
-- expect: secret-in-migration
INSERT INTO settings (name, value) VALUES ('server', 'https://sync:correct-horse@sync.test/v1');
