-- https://github.com/ariga/atlas/issues/3467
-- A renamed column was reported as a dropped and an added one. It breaks the installed version, but
-- no data is lost.
-- migration: 01_init
CREATE TABLE mytable (id INTEGER PRIMARY KEY, mycol varchar(64) NOT NULL);
-- migration: 02_change
ALTER TABLE mytable RENAME COLUMN mycol TO newname;  -- expect: breaks-installed-version
