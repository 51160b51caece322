-- https://github.com/launchbadge/sqlx/issues/2085
-- A table that others refer to can't be rebuilt: the pragma has no effect in sqlx's transaction,
-- and without ON DELETE the DROP fails once there are rows.
-- foreign-keys: immediate
-- migration: 20220901000000_init
CREATE TABLE games (id INTEGER PRIMARY KEY, slug TEXT NOT NULL);
CREATE TABLE scores (id INTEGER PRIMARY KEY, game_id INTEGER NOT NULL REFERENCES games (id));
CREATE INDEX scores_game ON scores (game_id);
-- migration: 20220905000000_unique_slug
-- expect in migration: breaks-installed-version
-- expect in migration: no-effect-in-transaction
-- expect in migration: migration-fails
-- expect in migration: may-violate-unique
PRAGMA foreign_keys = OFF;
CREATE TABLE games_new (id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE);
INSERT INTO games_new (id, slug) SELECT id, slug FROM games;
DROP TABLE games;
ALTER TABLE games_new RENAME TO games;
PRAGMA foreign_keys = ON;
