-- https://github.com/drizzle-team/drizzle-orm/issues/5782
-- A new default for one column of chats deleted every user's messages. No error, no log.
-- foreign-keys: immediate
-- migration: 0000_init
CREATE TABLE `chats` (`id` text PRIMARY KEY NOT NULL, `view` text DEFAULT 'preview' NOT NULL);
CREATE TABLE `messages` (
    `id` text PRIMARY KEY NOT NULL,
    `chat_id` text NOT NULL,
    FOREIGN KEY (`chat_id`) REFERENCES `chats`(`id`) ON UPDATE no action ON DELETE cascade
);
CREATE INDEX `messages_chat` ON `messages` (`chat_id`);
CREATE TABLE `message_attachments` (
    `id` text PRIMARY KEY NOT NULL,
    `message_id` text NOT NULL,
    FOREIGN KEY (`message_id`) REFERENCES `messages`(`id`) ON UPDATE no action ON DELETE cascade
);
CREATE INDEX `message_attachments_message` ON `message_attachments` (`message_id`);
-- migration: 0001_view
-- expect in migration: breaks-installed-version
-- expect in migration: no-effect-in-transaction
-- expect in migration: cascade-deletes
PRAGMA foreign_keys=OFF;
CREATE TABLE `__new_chats` (`id` text PRIMARY KEY NOT NULL, `view` text DEFAULT 'markup' NOT NULL);
INSERT INTO `__new_chats`("id", "view") SELECT "id", "view" FROM `chats`;
DROP TABLE `chats`;
ALTER TABLE `__new_chats` RENAME TO `chats`;
PRAGMA foreign_keys=ON;
