-- The rows get new numbers, but the other table refers to another column.
-- migration: 0001_policies
CREATE TABLE policies (id INTEGER PRIMARY KEY, code BLOB NOT NULL UNIQUE, peer TEXT);
CREATE TABLE forwards (id INTEGER PRIMARY KEY, policy BLOB REFERENCES policies (code));
CREATE INDEX forwards_policy ON forwards (policy);
-- migration: 0002_peer_default
-- expect in migration: breaks-installed-version
CREATE TABLE new_policies (id INTEGER PRIMARY KEY, code BLOB NOT NULL UNIQUE, peer TEXT DEFAULT '');
-- expect in migration: rebuild-loses-column warning
INSERT INTO new_policies (code, peer) SELECT code, peer FROM policies;
DROP TABLE policies;
ALTER TABLE new_policies RENAME TO policies;
