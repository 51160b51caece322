-- migration: 0001_settings
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);
-- migration: 0002_no_name
ALTER TABLE settings DROP COLUMN name;  -- expect: drop-column-fails
