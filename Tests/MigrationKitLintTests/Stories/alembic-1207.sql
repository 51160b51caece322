-- https://github.com/sqlalchemy/alembic/issues/1207
-- A batch operation on a table that a view names fails at the rename: "error in view fooview".
-- migration: 0001_init
CREATE TABLE foo (id INTEGER, data INTEGER);
CREATE VIEW fooview AS SELECT id FROM foo;
-- migration: 0002_data
CREATE TABLE _alembic_tmp_foo (id INTEGER, data INTEGER DEFAULT 0);
INSERT INTO _alembic_tmp_foo (id, data) SELECT foo.id, foo.data FROM foo;
DROP TABLE foo;
ALTER TABLE _alembic_tmp_foo RENAME TO foo;  -- expect: migration-fails
