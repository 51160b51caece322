-- migration: 0001_settings
CREATE TABLE settings (id INTEGER PRIMARY KEY, pause INTEGER);
-- migration: 0002_pause
-- expect in migration: breaks-installed-version
-- expect in migration: breaks-installed-version
CREATE TABLE new (id INTEGER PRIMARY KEY, pause INTEGER NOT NULL DEFAULT 7);
INSERT INTO new (id, pause) SELECT id, coalesce(pause, 7) FROM settings;
DROP TABLE settings;
ALTER TABLE new RENAME TO settings;
UPDATE settings SET pause = 30;  -- expect: update-without-where
