-- Double quotes are for names, and these are names.
-- migration: 0001_notes
CREATE TABLE "notes" ("id" INTEGER PRIMARY KEY, "order" TEXT DEFAULT 'open');
-- migration: 0002_close
UPDATE "notes" SET "order" = NULL WHERE "order" = 'open';
CREATE INDEX "notes_order" ON "notes" ("order") WHERE "order" <> 'closed';
