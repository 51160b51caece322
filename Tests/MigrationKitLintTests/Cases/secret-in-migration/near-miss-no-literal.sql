-- The column exists, but the migration holds no value for it.
-- migration: 0001_accounts
CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, password TEXT DEFAULT '');
CREATE TABLE hints (password_hint TEXT);
-- migration: 0002_no_passwords
INSERT INTO accounts (name, password) VALUES ('admin', NULL);
UPDATE accounts SET password = '' WHERE password IS NULL;
INSERT INTO accounts (name, password) VALUES ('guest', lower(hex(randomblob(16))));
