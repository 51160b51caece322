-- How long a note is, for the list that is sorted by it. It is counted when a note is written: a
-- stored generated column can't be added to a table that is there.

-- migrate:up

ALTER TABLE "notes" ADD COLUMN "words" INTEGER;

CREATE VIEW "note_words" AS
SELECT
    "id",
    length(trim("body")) - length(replace(trim("body"), ' ', '')) + (trim("body") <> '') AS "words"
FROM "notes";

CREATE TRIGGER "notes_words_insert" AFTER INSERT ON "notes"
BEGIN
    UPDATE "notes"
    SET "words" = (SELECT "words" FROM "note_words" WHERE "id" = new."id")
    WHERE "id" = new."id";
END;

CREATE TRIGGER "notes_words_update" AFTER UPDATE OF "body" ON "notes"
BEGIN
    UPDATE "notes"
    SET "words" = (SELECT "words" FROM "note_words" WHERE "id" = new."id")
    WHERE "id" = new."id";
END;

-- migrate:down

DROP TRIGGER "notes_words_update";
DROP TRIGGER "notes_words_insert";
DROP VIEW "note_words";
ALTER TABLE "notes" DROP COLUMN "words";
