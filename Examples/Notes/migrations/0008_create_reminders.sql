-- migrate:up

CREATE TABLE "reminders" (
    "id" TEXT PRIMARY KEY NOT NULL ON CONFLICT REPLACE DEFAULT (uuid()),
    "note_id" TEXT NOT NULL REFERENCES "notes" ("id") ON DELETE CASCADE,
    "due_at" INTEGER NOT NULL,
    "done_at" INTEGER
) STRICT;

CREATE INDEX "reminders_note" ON "reminders" ("note_id");

-- The app asks for what is due every minute, and almost all reminders are done. The index holds
-- the few that aren't.
CREATE INDEX "reminders_due" ON "reminders" ("due_at") WHERE "done_at" IS NULL;

-- Only if the note is still there: by the time this step runs, its owner may have deleted it.
INSERT INTO "reminders" ("id", "note_id", "due_at")
SELECT 'e5f92a87-0000-4d40-b000-000000000001', "id", unixepoch('2024-03-01T18:00:00Z')
FROM "notes"
WHERE "id" = 'a2c90b34-0000-4b20-9000-000000000003';

-- migrate:down

DROP TABLE "reminders";
