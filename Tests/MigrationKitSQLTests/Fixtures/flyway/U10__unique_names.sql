-- Undo
PRAGMA foreign_keys = OFF;
CREATE TABLE old_cooks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, -- "first last"; nothing else
    motto TEXT NOT NULL DEFAULT 'none'
);
INSERT INTO old_cooks SELECT id, name, motto FROM cooks;
DROP TABLE cooks;
ALTER TABLE old_cooks RENAME TO cooks;
PRAGMA foreign_keys = ON
