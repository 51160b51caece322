-- no folder is inside itself
SELECT "folders".rowid FROM "folders"
WHERE EXISTS (
    WITH RECURSIVE "outer" ("id") AS (
        SELECT "folders"."parent_id"
        UNION
        SELECT "parent_id" FROM "folders" AS "next" JOIN "outer" ON "next"."id" = "outer"."id"
    )
    SELECT 1 FROM "outer" WHERE "id" = "folders"."id"
);
