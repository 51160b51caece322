-- Both columns refer to the same table, so their values look alike.
-- migration: 0001_messages
CREATE TABLE people (id INTEGER PRIMARY KEY);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    sender INTEGER REFERENCES people (id),
    receiver INTEGER REFERENCES people (id)
);
CREATE INDEX messages_sender ON messages (sender);
CREATE INDEX messages_receiver ON messages (receiver);
-- migration: 0002_defaults
-- expect in migration: breaks-installed-version
CREATE TABLE new_messages (
    id INTEGER PRIMARY KEY,
    receiver INTEGER REFERENCES people (id),
    sender INTEGER DEFAULT 1 REFERENCES people (id)
);
-- expect in migration: rebuild-shifts-columns
INSERT INTO new_messages SELECT * FROM messages;
DROP TABLE messages;
ALTER TABLE new_messages RENAME TO messages;
CREATE INDEX messages_sender ON messages (sender);
CREATE INDEX messages_receiver ON messages (receiver);
