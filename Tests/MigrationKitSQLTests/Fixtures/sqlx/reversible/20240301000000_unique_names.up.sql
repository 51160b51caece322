PRAGMA foreign_keys = OFF;
CREATE TABLE new_cooks (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, motto TEXT);
INSERT INTO new_cooks SELECT id, name, motto FROM cooks;
DROP TABLE cooks;
ALTER TABLE new_cooks RENAME TO cooks;
PRAGMA foreign_keys = ON;
