-- The notes from before. Somebody may have a hundred thousand of them: the app reads and writes
-- between two batches, and a launch that is ended goes on the next time. Versions that know the
-- column expect NULL and numbers.

-- migrate:up
-- migrate:older works

-- migrate:batch
UPDATE "notes"
SET "words" = length(trim("body")) - length(replace(trim("body"), ' ', '')) + (trim("body") <> '')
WHERE "words" IS NULL;

-- migrate:check
-- the words of every note are counted
SELECT "notes".rowid FROM "notes" WHERE "words" IS NULL;

-- migrate:down

UPDATE "notes" SET "words" = NULL;
