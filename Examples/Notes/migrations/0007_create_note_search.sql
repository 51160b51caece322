-- Full-text search over titles and bodies.

-- migrate:up

-- The index refers to a note by a number. The rowid of "notes" won't do: it has no INTEGER
-- PRIMARY KEY, so VACUUM may give every row another one (https://www.sqlite.org/lang_vacuum.html).
CREATE TABLE "note_search_keys" (
    "key" INTEGER PRIMARY KEY NOT NULL,
    "note_id" TEXT NOT NULL UNIQUE REFERENCES "notes" ("id") ON DELETE CASCADE
) STRICT;

CREATE VIEW "searchable_notes" AS
SELECT "note_search_keys"."key", "notes"."title", "notes"."body"
FROM "note_search_keys"
JOIN "notes" ON "notes"."id" = "note_search_keys"."note_id";

-- The text itself stays in "notes": the index reads it through the view.
CREATE VIRTUAL TABLE "note_search" USING fts5 (
    "title",
    "body",
    content = 'searchable_notes',
    content_rowid = 'key',
    tokenize = 'unicode61 remove_diacritics 2'
);

INSERT INTO "note_search_keys" ("note_id") SELECT "id" FROM "notes" ORDER BY "id";
INSERT INTO "note_search" ("note_search") VALUES ('rebuild');

CREATE TRIGGER "notes_search_insert" AFTER INSERT ON "notes"
BEGIN
    INSERT INTO "note_search_keys" ("note_id") VALUES (new."id");
    INSERT INTO "note_search" ("rowid", "title", "body")
    SELECT "key", new."title", new."body"
    FROM "note_search_keys"
    WHERE "note_id" = new."id";
END;

-- An index without its own copy of the text has to be told what it forgets: the old text, word
-- for word (https://www.sqlite.org/fts5.html#the_delete_command).
CREATE TRIGGER "notes_search_update" AFTER UPDATE OF "title", "body" ON "notes"
BEGIN
    INSERT INTO "note_search" ("note_search", "rowid", "title", "body")
    SELECT 'delete', "key", old."title", old."body"
    FROM "note_search_keys"
    WHERE "note_id" = old."id";
    INSERT INTO "note_search" ("rowid", "title", "body")
    SELECT "key", new."title", new."body"
    FROM "note_search_keys"
    WHERE "note_id" = new."id";
END;

-- Before, since the key is gone afterwards: it cascades. It is deleted here all the same,
-- because nothing cascades while foreign keys are off.
CREATE TRIGGER "notes_search_delete" BEFORE DELETE ON "notes"
BEGIN
    INSERT INTO "note_search" ("note_search", "rowid", "title", "body")
    SELECT 'delete', "key", old."title", old."body"
    FROM "note_search_keys"
    WHERE "note_id" = old."id";
    DELETE FROM "note_search_keys" WHERE "note_id" = old."id";
END;

-- migrate:down

DROP TRIGGER "notes_search_delete";
DROP TRIGGER "notes_search_update";
DROP TRIGGER "notes_search_insert";
DROP TABLE "note_search";
DROP VIEW "searchable_notes";
DROP TABLE "note_search_keys";
