-- Notes from before the count, and a note that is written after it.

-- migrate:at 0013
INSERT INTO "folders" ("id", "name") VALUES ('f', 'Inbox');
INSERT INTO "notes" ("id", "folder_id", "body") VALUES
    ('a', 'f', 'Passport, charger, rain jacket'), ('b', 'f', ''), ('c', 'f', ' one ');

-- migrate:after 0015
SELECT "id", "words" FROM "notes" WHERE "folder_id" = 'f' ORDER BY "id";
-- migrate:gives
VALUES ('a', 4), ('b', 0), ('c', 1);

-- migrate:at 0015
UPDATE "notes" SET "body" = 'two words' WHERE "id" = 'b';

-- migrate:after 0015
SELECT "words" FROM "notes" WHERE "id" = 'b';
-- migrate:gives
VALUES (2);
