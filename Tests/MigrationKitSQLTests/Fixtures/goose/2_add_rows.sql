-- +goose Up
INSERT INTO cooks (id, name) VALUES (1, 'Ana'), (2, 'O''Brien;');
INSERT INTO cooks VALUES (3, 'Zoë', '
-- +goose Down
DROP TABLE cooks;
');
/* Not yet:
-- +goose Down
   DELETE FROM cooks; */
INSERT INTO recipes (cook_id, title) SELECT id, name || '; soup' FROM cooks;

-- +goose Down
DELETE FROM recipes;
DELETE FROM cooks;
