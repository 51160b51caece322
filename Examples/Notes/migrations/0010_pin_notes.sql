-- migrate:up

ALTER TABLE "notes" ADD COLUMN "pinned" INTEGER NOT NULL DEFAULT 0 CHECK ("pinned" IN (0, 1));

CREATE INDEX "notes_pinned" ON "notes" ("folder_id") WHERE "pinned" = 1;

-- migrate:down

DROP INDEX "notes_pinned";
ALTER TABLE "notes" DROP COLUMN "pinned";
