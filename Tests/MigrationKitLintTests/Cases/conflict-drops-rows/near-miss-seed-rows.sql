-- Rows of the migration's own are skipped if they are there already. No row of the user's is lost.
-- migration: 0001_settings
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
-- migration: 0002_defaults
INSERT OR IGNORE INTO settings (name, value) VALUES ('theme', 'light');
