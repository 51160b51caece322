-- every note can be found by its words
SELECT "notes".rowid FROM "notes"
WHERE NOT EXISTS (SELECT 1 FROM "note_search_keys" WHERE "note_id" = "notes"."id");

-- no note has more than twenty revisions
SELECT min("id") AS rowid FROM "note_revisions" GROUP BY "note_id" HAVING count(*) > 20;
