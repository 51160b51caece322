-- https://github.com/ariga/atlas/issues/2699
-- A trigger made the linter itself fail: "incomplete input". It must see the drop, and nothing else.
-- migration: 01_init
CREATE TABLE `users` (
    `id` text NOT NULL,
    `username` text NOT NULL,
    `updated_at` integer NOT NULL DEFAULT (unixepoch()),
    PRIMARY KEY (`id`)
) WITHOUT ROWID;
CREATE TABLE `users2` (`id` text NOT NULL, PRIMARY KEY (`id`)) WITHOUT ROWID;
CREATE TRIGGER `update_users_updated_at` AFTER UPDATE OF `username` ON `users` FOR EACH ROW BEGIN
    UPDATE users SET updated_at = unixepoch() WHERE id = NEW.id;
END;
-- migration: 02_change
PRAGMA foreign_keys = off;
-- expect: drop-table
-- expect: breaks-installed-version
DROP TABLE `users2`;
PRAGMA foreign_keys = on;
