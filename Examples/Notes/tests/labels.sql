-- What people type as labels, and the tags that it becomes.

-- migrate:at 0004
INSERT INTO "folders" ("id", "name") VALUES ('f', 'Recipes');
INSERT INTO "notes" ("id", "folder_id", "title", "labels") VALUES
    ('a', 'f', 'Soup', 'Cooking, family'),
    ('b', 'f', 'Bread', ' cooking,,weekly,'),
    ('c', 'f', 'Nothing', ''),
    ('d', 'f', 'Commas', ' , ,');

-- migrate:after 0006
-- The welcome notes have the label, too, and whose spelling wins isn't said.
SELECT "notes"."id", lower("tags"."name") FROM "notes"
JOIN "note_tags" ON "note_tags"."note_id" = "notes"."id"
JOIN "tags" ON "tags"."id" = "note_tags"."tag_id"
WHERE "notes"."folder_id" = 'f'
ORDER BY 1, 2;
-- migrate:gives
VALUES ('a', 'cooking'), ('a', 'family'), ('b', 'cooking'), ('b', 'weekly');
