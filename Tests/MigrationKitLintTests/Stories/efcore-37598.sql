-- https://github.com/dotnet/efcore/issues/37598
-- defer_foreign_keys defers the check, but not the cascade: a rebuild in a transaction deleted the
-- children.
-- foreign-keys: immediate
-- migration: 20260101000000_Initial
CREATE TABLE "Parent" ("Id" INTEGER NOT NULL PRIMARY KEY, "Name" TEXT NULL);
CREATE TABLE "Child" (
    "Id" INTEGER NOT NULL PRIMARY KEY,
    FOREIGN KEY ("Id") REFERENCES "Parent" ("Id") ON DELETE CASCADE
);
-- migration: 20260131000000_Rebuild
-- expect in migration: breaks-installed-version
-- expect in migration: cascade-deletes
PRAGMA defer_foreign_keys = 1;
CREATE TABLE "ef_temp_Parent" ("Id" INTEGER NOT NULL PRIMARY KEY, "Name" TEXT NULL DEFAULT '');
INSERT INTO "ef_temp_Parent" ("Id", "Name") SELECT "Id", "Name" FROM "Parent";
DROP TABLE "Parent";
ALTER TABLE "ef_temp_Parent" RENAME TO "Parent";
