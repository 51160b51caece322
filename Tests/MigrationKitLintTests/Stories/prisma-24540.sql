-- https://github.com/prisma/orm/issues/24540
-- The ids of optional relations became NULL without a word, since ON DELETE SET NULL applies when
-- the old table is dropped.
-- foreign-keys: immediate
-- migration: 20240601000000_init
CREATE TABLE "User" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT);
CREATE TABLE "Post" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "authorId" TEXT,
    CONSTRAINT "Post_authorId_fkey" FOREIGN KEY ("authorId")
        REFERENCES "User" ("id") ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE INDEX "Post_authorId" ON "Post" ("authorId");
-- migration: 20240614000000_default
-- expect in migration: breaks-installed-version
-- expect in migration: no-effect-in-transaction
-- expect in migration: cascade-deletes
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_User" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT DEFAULT '');
INSERT INTO "new_User" ("id", "name") SELECT "id", "name" FROM "User";
DROP TABLE "User";
ALTER TABLE "new_User" RENAME TO "User";
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
