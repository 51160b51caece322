-- migrate:up

CREATE TABLE "attachments" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "note_id" TEXT NOT NULL REFERENCES "notes" ("id") ON DELETE CASCADE,
    "file_name" TEXT NOT NULL,
    "media_type" TEXT NOT NULL DEFAULT 'application/octet-stream',
    "data" BLOB NOT NULL,
    -- Stored, so that a list with sizes doesn't read the data.
    "size" INTEGER NOT NULL GENERATED ALWAYS AS (length("data")) STORED
) STRICT;

CREATE INDEX "attachments_note" ON "attachments" ("note_id");

-- migrate:down

DROP TABLE "attachments";
