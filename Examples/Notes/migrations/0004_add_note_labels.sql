-- Labels as people type them: "cooking, family". The next but one step makes something better
-- of it.

-- migrate:up

ALTER TABLE "notes" ADD COLUMN "labels" TEXT NOT NULL DEFAULT '';

-- migrate:down

ALTER TABLE "notes" DROP COLUMN "labels";
