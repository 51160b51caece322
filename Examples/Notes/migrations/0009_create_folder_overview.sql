-- What the side bar shows.

-- migrate:up

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
