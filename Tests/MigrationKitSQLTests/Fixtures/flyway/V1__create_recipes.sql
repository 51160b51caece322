-- Cooks; and what they cook
CREATE TABLE cooks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL, -- "first last"; nothing else
    motto TEXT NOT NULL DEFAULT 'none;
-- undo
really none'
);
CREATE TABLE recipes (
    id INTEGER PRIMARY KEY,
    cook_id INTEGER NOT NULL REFERENCES cooks (id) ON DELETE CASCADE,
    title TEXT NOT NULL
)