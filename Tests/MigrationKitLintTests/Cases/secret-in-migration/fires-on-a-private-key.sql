-- migration: 0001_settings
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
-- migration: 0002_push
-- expect in migration: secret-in-migration
UPDATE settings SET value = '-----BEGIN EC PRIVATE KEY-----…' WHERE name = 'push';
