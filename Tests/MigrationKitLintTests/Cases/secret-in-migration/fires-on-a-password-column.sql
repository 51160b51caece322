-- A literal for a column that is named password.
-- migration: 0001_accounts
CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT, password TEXT);
-- migration: 0002_admin
-- expect: secret-in-migration warning
INSERT INTO accounts (name, password) VALUES ('admin', 'correct-horse-battery');
