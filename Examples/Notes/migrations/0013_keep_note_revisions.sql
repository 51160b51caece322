-- What a note said before, twenty times over.

-- migrate:up

CREATE TABLE "note_revisions" (
    "id" INTEGER PRIMARY KEY NOT NULL,
    "note_id" TEXT NOT NULL REFERENCES "notes" ("id") ON DELETE CASCADE,
    "body" TEXT NOT NULL,
    "replaced_at" INTEGER NOT NULL DEFAULT (unixepoch())
) STRICT;

CREATE INDEX "note_revisions_note" ON "note_revisions" ("note_id", "id");

CREATE TRIGGER "notes_keep_revision" AFTER UPDATE OF "body" ON "notes"
WHEN CASE WHEN old."body" = '' THEN 0 ELSE old."body" <> new."body" END
BEGIN
    INSERT INTO "note_revisions" ("note_id", "body") VALUES (old."id", old."body");

    -- The oldest goes; a note that is edited every day must not fill the disk.
    DELETE FROM "note_revisions"
    WHERE "note_id" = old."id"
        AND "id" NOT IN (
            SELECT "id"
            FROM "note_revisions"
            WHERE "note_id" = old."id"
            ORDER BY "id" DESC
            LIMIT 20
        );
END;

-- migrate:down

DROP TRIGGER "notes_keep_revision";
DROP TABLE "note_revisions";
