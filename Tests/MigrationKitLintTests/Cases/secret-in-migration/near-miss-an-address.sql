-- No address has a password: a port, an @ in the path, and a placeholder.
-- migration: 0001_settings
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
-- migration: 0002_servers
INSERT INTO settings (name, value) VALUES
    ('server', 'https://sync.test:8443/v1'),
    ('profile', 'https://sync.test/@anna:b@c'),
    ('template', 'https://sync:{password}@sync.test/v1');
