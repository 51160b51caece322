-- migrate:up

CREATE TABLE "notes" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "folder_id" TEXT NOT NULL REFERENCES "folders" ("id") ON DELETE CASCADE,
    "title" TEXT NOT NULL DEFAULT '',
    "body" TEXT NOT NULL DEFAULT '',
    "created_at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    "updated_at" TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) STRICT;

CREATE INDEX "notes_folder" ON "notes" ("folder_id", "updated_at");

-- Whoever sets the time keeps it: a device that receives a note from another one must not make
-- it look newer.
CREATE TRIGGER "notes_touch" AFTER UPDATE OF "title", "body" ON "notes"
WHEN new."updated_at" = old."updated_at"
BEGIN
    UPDATE "notes"
    SET "updated_at" = strftime('%Y-%m-%dT%H:%M:%SZ', 'now')
    WHERE "id" = new."id";
END;

-- migrate:down

DROP TABLE "notes";
