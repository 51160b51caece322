-- Folders hold notes, and further folders.

-- migrate:up

-- Identifiers are UUIDs, so that rows made on two devices never collide. The default calls
-- uuid(), a function that the connection brings along. ON CONFLICT REPLACE belongs to NOT NULL:
-- a NULL becomes the default, which is what an insert without an identifier sends.
CREATE TABLE "folders" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "parent_id" TEXT REFERENCES "folders" ("id") ON DELETE CASCADE,
    "name" TEXT NOT NULL CHECK ("name" <> ''),
    "position" INTEGER NOT NULL DEFAULT 0
) STRICT;

-- SQLite makes no index for a foreign key. Without one, every deletion in the parent table
-- searches all of the child table.
CREATE INDEX "folders_parent" ON "folders" ("parent_id", "position");

-- migrate:down

DROP TABLE "folders";
