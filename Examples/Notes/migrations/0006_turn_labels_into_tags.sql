-- Labels were text: "cooking, family" here, "Cooking" there. As tags they are rows that can be
-- renamed once and for all.

-- migrate:up

CREATE TABLE "tags" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "name" TEXT NOT NULL COLLATE NOCASE UNIQUE CHECK ("name" <> '')
) STRICT;

CREATE TABLE "note_tags" (
    "note_id" TEXT NOT NULL REFERENCES "notes" ("id") ON DELETE CASCADE,
    "tag_id" TEXT NOT NULL REFERENCES "tags" ("id") ON DELETE CASCADE,
    PRIMARY KEY ("note_id", "tag_id")
) STRICT, WITHOUT ROWID;

-- For "all notes with this tag"; the primary key answers "all tags of this note".
CREATE INDEX "note_tags_tag" ON "note_tags" ("tag_id");

-- Every label of every note, cut at the commas. A view, since both inserts below read it.
CREATE VIEW "note_labels" AS
WITH RECURSIVE "cut" ("note_id", "label", "rest") AS (
    SELECT "id", '', "labels" || ',' FROM "notes"
    UNION ALL
    SELECT
        "note_id",
        trim(substr("rest", 1, instr("rest", ',') - 1)),
        substr("rest", instr("rest", ',') + 1)
    FROM "cut"
    WHERE "rest" <> ''
)
SELECT "note_id", "label" FROM "cut" WHERE "label" <> '';

-- Of several spellings one wins. The identifier comes from the default.
INSERT INTO "tags" ("name")
SELECT min("label") FROM "note_labels" GROUP BY "label" COLLATE NOCASE;

INSERT INTO "note_tags" ("note_id", "tag_id")
SELECT DISTINCT "note_labels"."note_id", "tags"."id"
FROM "note_labels"
JOIN "tags" ON "tags"."name" = "note_labels"."label";

DROP VIEW "note_labels";
-- migrationkit:allow breaks-installed-version the app and its database are updated together
ALTER TABLE "notes" DROP COLUMN "labels";

-- migrate:down

-- The text that the step before this one would have: the order and the spelling of the labels
-- may differ from what somebody once typed, the labels don't.
ALTER TABLE "notes" ADD COLUMN "labels" TEXT NOT NULL DEFAULT '';

UPDATE "notes"
SET "labels" = coalesce(
    (
        SELECT group_concat("name", ', ')
        FROM (
            SELECT "tags"."name"
            FROM "tags"
            JOIN "note_tags" ON "note_tags"."tag_id" = "tags"."id"
            WHERE "note_tags"."note_id" = "notes"."id"
            ORDER BY "tags"."name"
        )
    ),
    ''
);

DROP TABLE "note_tags";
DROP TABLE "tags";
