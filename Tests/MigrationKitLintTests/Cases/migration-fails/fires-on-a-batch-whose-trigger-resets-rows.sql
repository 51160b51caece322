-- Whenever a row is marked, the trigger takes the mark from all others, in other batches, too.
-- migration: 0001_notes
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER, state TEXT NOT NULL DEFAULT '');
-- migration: 0002_one_draft
-- expect in migration: breaks-installed-version
CREATE TRIGGER one_draft AFTER UPDATE OF state ON notes WHEN new.state = 'draft'
BEGIN
    UPDATE notes SET state = '' WHERE id <> new.id AND state = 'draft';
END;
-- migration: 0003_drafts
-- migrate:batch
UPDATE notes SET state = 'draft' WHERE state = '';  -- expect: migration-fails
