-- The second line of the list of notes. Computed when it is read: the database doesn't grow, and
-- the preview never lags behind the body.

-- migrate:up

ALTER TABLE "notes"
ADD COLUMN "preview" TEXT NOT NULL
    GENERATED ALWAYS AS (trim(replace(substr("body", 1, 120), char(10), ' '))) VIRTUAL;

-- migrate:down

ALTER TABLE "notes" DROP COLUMN "preview";
