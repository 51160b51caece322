-- https://github.com/ariga/atlas/issues/2700
-- The generated rebuild of users doesn't create its trigger again.
-- migration: 20240419000000_init
CREATE TABLE `users` (
    `id` text NOT NULL,
    `username` text NOT NULL,
    `updated_at` integer NOT NULL DEFAULT (unixepoch()),
    PRIMARY KEY (`id`)
) WITHOUT ROWID;
CREATE UNIQUE INDEX `users_username` ON `users` (`username`);
CREATE TRIGGER `update_users_updated_at` AFTER UPDATE OF `username` ON `users` FOR EACH ROW BEGIN
    UPDATE users SET updated_at = unixepoch() WHERE id = NEW.id;
END;
-- migration: 20240419000001_rename
-- expect in migration: rebuild-loses-trigger
-- expect in migration: breaks-installed-version
PRAGMA foreign_keys = off;
CREATE TABLE `new_users` (
    `user_id` text NOT NULL,
    `username` text NOT NULL,
    `updated_at` integer NOT NULL DEFAULT (unixepoch()),
    PRIMARY KEY (`user_id`)
) WITHOUT ROWID;
INSERT INTO `new_users` (`user_id`, `username`, `updated_at`)
    SELECT `id`, `username`, `updated_at` FROM `users`;
DROP TABLE `users`;
ALTER TABLE `new_users` RENAME TO `users`;
CREATE UNIQUE INDEX `users_username` ON `users` (`username`);
PRAGMA foreign_keys = on;
