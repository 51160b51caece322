-- What a new user finds. The identifiers are written down, so that the same rows are the same
-- on every device, and so that they can be found again.

-- migrate:up

INSERT INTO "folders" ("id", "parent_id", "name", "position") VALUES
    ('6f1d7c52-0000-4a10-8000-000000000001', NULL, 'Inbox', 0),
    ('6f1d7c52-0000-4a10-8000-000000000002', NULL, 'Recipes', 1),
    ('6f1d7c52-0000-4a10-8000-000000000003', NULL, 'Travel', 2),
    ('6f1d7c52-0000-4a10-8000-000000000004', '6f1d7c52-0000-4a10-8000-000000000003', 'Lisbon', 0);

INSERT INTO "notes" ("id", "folder_id", "title", "body", "labels", "created_at", "updated_at")
VALUES
    (
        'a2c90b34-0000-4b20-9000-000000000001',
        '6f1d7c52-0000-4a10-8000-000000000001',
        'Welcome',
        'Everything you write here is encrypted on disk.
-- A line of a note may look like a comment; it is text all the same.
Semicolons are welcome too;',
        '',
        '2024-01-15T08:00:00Z',
        '2024-01-15T08:00:00Z'
    ),
    (
        'a2c90b34-0000-4b20-9000-000000000002',
        '6f1d7c52-0000-4a10-8000-000000000002',
        'Caldo verde',
        'Kale, potatoes, onion, garlic. It''s better the day after.',
        'cooking, family, Portugal',
        '2024-01-15T08:00:01Z',
        '2024-01-20T18:30:00Z'
    ),
    (
        'a2c90b34-0000-4b20-9000-000000000003',
        '6f1d7c52-0000-4a10-8000-000000000002',
        'Sourdough starter',
        'Feed it every evening: 50 g flour, 50 g water.',
        'Cooking,  weekly',
        '2024-01-15T08:00:02Z',
        '2024-01-15T08:00:02Z'
    ),
    (
        'a2c90b34-0000-4b20-9000-000000000004',
        '6f1d7c52-0000-4a10-8000-000000000004',
        'Tram 28',
        'Before nine, from Campo de Ourique. Afterwards it is full.',
        'portugal,trips,',
        '2024-01-15T08:00:03Z',
        '2024-02-02T07:45:00Z'
    ),
    (
        'a2c90b34-0000-4b20-9000-000000000005',
        '6f1d7c52-0000-4a10-8000-000000000003',
        'Packing list',
        'Passport, charger, rain jacket',
        'trips',
        '2024-01-15T08:00:04Z',
        '2024-01-15T08:00:04Z'
    );

INSERT INTO "attachments" ("id", "note_id", "file_name", "media_type", "data") VALUES
    (
        'd4e81f76-0000-4c30-a000-000000000001',
        'a2c90b34-0000-4b20-9000-000000000002',
        'shopping.txt',
        'text/plain',
        CAST('1 kale' || char(10) || '6 potatoes' || char(10) AS BLOB)
    ),
    (
        'd4e81f76-0000-4c30-a000-000000000002',
        'a2c90b34-0000-4b20-9000-000000000004',
        'pixel.gif',
        'image/gif',
        x'47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b'
    );

-- migrate:down

-- Nothing cascades while a migration runs: foreign keys are off then, and checked at its end. So
-- what belongs to the notes is deleted by name.
DELETE FROM "attachments" WHERE "note_id" GLOB 'a2c90b34-0000-4b20-9000-00000000000[1-5]';
DELETE FROM "notes" WHERE "id" GLOB 'a2c90b34-0000-4b20-9000-00000000000[1-5]';

-- A folder in which somebody has put something of their own stays. Lisbon goes first, since
-- Travel may be empty only then.
DELETE FROM "folders"
WHERE "id" = '6f1d7c52-0000-4a10-8000-000000000004'
    AND NOT EXISTS (SELECT 1 FROM "notes" WHERE "folder_id" = "folders"."id")
    AND NOT EXISTS (SELECT 1 FROM "folders" AS "child" WHERE "child"."parent_id" = "folders"."id");
DELETE FROM "folders"
WHERE "id" GLOB '6f1d7c52-0000-4a10-8000-00000000000[1-3]'
    AND NOT EXISTS (SELECT 1 FROM "notes" WHERE "folder_id" = "folders"."id")
    AND NOT EXISTS (SELECT 1 FROM "folders" AS "child" WHERE "child"."parent_id" = "folders"."id");
