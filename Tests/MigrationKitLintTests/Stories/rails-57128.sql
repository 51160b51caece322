-- https://github.com/rails/rails/pull/57128
-- Active Record turns foreign keys off for a rebuild, but in a migration's transaction that has no
-- effect: adding a CHECK to authors deleted all of their books.
-- foreign-keys: immediate
-- migration: 20260101000000_create
CREATE TABLE "authors" (
    "id" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    "name" varchar NOT NULL
);
CREATE TABLE "books" (
    "id" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    "author_id" integer NOT NULL,
    CONSTRAINT "fk_rails_53d51ce16a" FOREIGN KEY ("author_id")
        REFERENCES "authors" ("id") ON DELETE CASCADE
);
CREATE INDEX "index_books_on_author_id" ON "books" ("author_id");
-- migration: 20260102000000_add_check_to_authors
-- expect in migration: no-effect-in-transaction
-- expect in migration: cascade-deletes
-- expect in migration: may-violate-check
-- expect in migration: breaks-installed-version
PRAGMA defer_foreign_keys = ON;
PRAGMA foreign_keys = OFF;
CREATE TEMPORARY TABLE "aauthors" (  -- expect: temporary-object
    "id" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    "name" varchar NOT NULL,
    CONSTRAINT "name_present" CHECK (length(name) > 0)
);
INSERT INTO "aauthors" ("id", "name") SELECT "id", "name" FROM "authors";
DROP TABLE "authors";
CREATE TABLE "authors" (
    "id" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    "name" varchar NOT NULL,
    CONSTRAINT "name_present" CHECK (length(name) > 0)
);
INSERT INTO "authors" ("id", "name") SELECT "id", "name" FROM "aauthors";
DROP TABLE "aauthors";
PRAGMA foreign_keys = ON;
