-- Times of every form that a version of the app has written.

-- migrate:at 0010
INSERT INTO "folders" ("id", "name") VALUES ('f', 'Inbox');
INSERT INTO "notes" ("id", "folder_id", "created_at", "updated_at") VALUES
    ('a', 'f', '2024-01-15T08:00:00Z', '2024-01-15T08:00:00Z'),
    ('b', 'f', '2024-01-15 08:00:00', '2024-01-15T09:00:00+01:00');

-- migrate:after 0011
SELECT "id", "created_at", "updated_at" FROM "notes" WHERE "folder_id" = 'f' ORDER BY "id";
-- migrate:gives
VALUES ('a', 1705305600, 1705305600), ('b', 1705305600, 1705305600);
