-- Times were text, and every comparison with a reminder's time a conversion. They become seconds
-- since 1970, like everywhere else.
--
-- SQLite can't change the type of a column, so the table is built again, in the order of
-- https://www.sqlite.org/lang_altertable.html#otheralter. Four tables refer to "notes": dropping
-- it with foreign keys on would delete all of their rows. The runner turns foreign keys off
-- before the transaction and checks them before the commit; a PRAGMA in here, inside the
-- transaction, would have no effect.

-- migrate:up

-- These read from "notes". The table's own indexes and triggers go with the table.
DROP VIEW "folder_overview";
DROP VIEW "searchable_notes";

CREATE TABLE "new_notes" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "folder_id" TEXT NOT NULL REFERENCES "folders" ("id") ON DELETE CASCADE,
    "title" TEXT NOT NULL DEFAULT '',
    "body" TEXT NOT NULL DEFAULT '',
    "pinned" INTEGER NOT NULL DEFAULT 0 CHECK ("pinned" IN (0, 1)),
    "created_at" INTEGER NOT NULL DEFAULT (unixepoch()),
    "updated_at" INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;

INSERT INTO "new_notes"
    ("id", "folder_id", "title", "body", "pinned", "created_at", "updated_at")
SELECT
    "id",
    "folder_id",
    "title",
    "body",
    "pinned",
    -- A time that no one can read becomes now, rather than a migration that never ends well.
    coalesce(unixepoch("created_at"), unixepoch()),
    coalesce(unixepoch("updated_at"), unixepoch())
FROM "notes";

DROP TABLE "notes";
ALTER TABLE "new_notes" RENAME TO "notes";

CREATE INDEX "notes_folder" ON "notes" ("folder_id", "updated_at");
CREATE INDEX "notes_pinned" ON "notes" ("folder_id") WHERE "pinned" = 1;

CREATE TRIGGER "notes_touch" AFTER UPDATE OF "title", "body" ON "notes"
WHEN new."updated_at" = old."updated_at"
BEGIN
    UPDATE "notes" SET "updated_at" = unixepoch() WHERE "id" = new."id";
END;

CREATE VIEW "searchable_notes" AS
SELECT "note_search_keys"."key", "notes"."title", "notes"."body"
FROM "note_search_keys"
JOIN "notes" ON "notes"."id" = "note_search_keys"."note_id";

CREATE TRIGGER "notes_search_insert" AFTER INSERT ON "notes"
BEGIN
    INSERT INTO "note_search_keys" ("note_id") VALUES (new."id");
    INSERT INTO "note_search" ("rowid", "title", "body")
    SELECT "key", new."title", new."body"
    FROM "note_search_keys"
    WHERE "note_id" = new."id";
END;

CREATE TRIGGER "notes_search_update" AFTER UPDATE OF "title", "body" ON "notes"
BEGIN
    INSERT INTO "note_search" ("note_search", "rowid", "title", "body")
    SELECT 'delete', "key", old."title", old."body"
    FROM "note_search_keys"
    WHERE "note_id" = old."id";
    INSERT INTO "note_search" ("rowid", "title", "body")
    SELECT "key", new."title", new."body"
    FROM "note_search_keys"
    WHERE "note_id" = new."id";
END;

CREATE TRIGGER "notes_search_delete" BEFORE DELETE ON "notes"
BEGIN
    INSERT INTO "note_search" ("note_search", "rowid", "title", "body")
    SELECT 'delete', "key", old."title", old."body"
    FROM "note_search_keys"
    WHERE "note_id" = old."id";
    DELETE FROM "note_search_keys" WHERE "note_id" = old."id";
END;

CREATE VIEW "folder_overview" AS
SELECT
    "folders"."id",
    "folders"."parent_id",
    "folders"."name",
    count("notes"."id") AS "note_count",
    max("notes"."updated_at") AS "updated_at"
FROM "folders"
LEFT JOIN "notes" ON "notes"."folder_id" = "folders"."id"
GROUP BY "folders"."id";

-- migrate:down

DROP VIEW "folder_overview";
DROP VIEW "searchable_notes";

CREATE TABLE "new_notes" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "folder_id" TEXT NOT NULL REFERENCES "folders" ("id") ON DELETE CASCADE,
    "title" TEXT NOT NULL DEFAULT '',
    "body" TEXT NOT NULL DEFAULT '',
    "created_at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    "updated_at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) STRICT;

-- The way the column once came, so that the schema has the same text again.
ALTER TABLE "new_notes"
ADD COLUMN "pinned" INTEGER NOT NULL DEFAULT 0 CHECK ("pinned" IN (0, 1));

INSERT INTO "new_notes"
    ("id", "folder_id", "title", "body", "pinned", "created_at", "updated_at")
SELECT
    "id",
    "folder_id",
    "title",
    "body",
    "pinned",
    strftime('%Y-%m-%dT%H:%M:%SZ', "created_at", 'unixepoch'),
    strftime('%Y-%m-%dT%H:%M:%SZ', "updated_at", 'unixepoch')
FROM "notes";

DROP TABLE "notes";
ALTER TABLE "new_notes" RENAME TO "notes";

CREATE INDEX "notes_folder" ON "notes" ("folder_id", "updated_at");
CREATE INDEX "notes_pinned" ON "notes" ("folder_id") WHERE "pinned" = 1;

CREATE TRIGGER "notes_touch" AFTER UPDATE OF "title", "body" ON "notes"
WHEN new."updated_at" = old."updated_at"
BEGIN
    UPDATE "notes"
    SET "updated_at" = strftime('%Y-%m-%dT%H:%M:%SZ', 'now')
    WHERE "id" = new."id";
END;

CREATE VIEW "searchable_notes" AS
SELECT "note_search_keys"."key", "notes"."title", "notes"."body"
FROM "note_search_keys"
JOIN "notes" ON "notes"."id" = "note_search_keys"."note_id";

CREATE TRIGGER "notes_search_insert" AFTER INSERT ON "notes"
BEGIN
    INSERT INTO "note_search_keys" ("note_id") VALUES (new."id");
    INSERT INTO "note_search" ("rowid", "title", "body")
    SELECT "key", new."title", new."body"
    FROM "note_search_keys"
    WHERE "note_id" = new."id";
END;

CREATE TRIGGER "notes_search_update" AFTER UPDATE OF "title", "body" ON "notes"
BEGIN
    INSERT INTO "note_search" ("note_search", "rowid", "title", "body")
    SELECT 'delete', "key", old."title", old."body"
    FROM "note_search_keys"
    WHERE "note_id" = old."id";
    INSERT INTO "note_search" ("rowid", "title", "body")
    SELECT "key", new."title", new."body"
    FROM "note_search_keys"
    WHERE "note_id" = new."id";
END;

CREATE TRIGGER "notes_search_delete" BEFORE DELETE ON "notes"
BEGIN
    INSERT INTO "note_search" ("note_search", "rowid", "title", "body")
    SELECT 'delete', "key", old."title", old."body"
    FROM "note_search_keys"
    WHERE "note_id" = old."id";
    DELETE FROM "note_search_keys" WHERE "note_id" = old."id";
END;

CREATE VIEW "folder_overview" AS
SELECT
    "folders"."id",
    "folders"."parent_id",
    "folders"."name",
    count("notes"."id") AS "note_count",
    max("notes"."updated_at") AS "updated_at"
FROM "folders"
LEFT JOIN "notes" ON "notes"."folder_id" = "folders"."id"
GROUP BY "folders"."id";
