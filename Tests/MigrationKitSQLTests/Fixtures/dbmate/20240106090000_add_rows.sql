-- migrate:up transaction:true
INSERT INTO cooks (id, name) VALUES (1, 'Ana'), (2, 'O''Brien;');
INSERT INTO cooks VALUES (3, 'Zoë', '
  -- migrate:down
DROP TABLE cooks;
');
/* Not yet:
  -- migrate:down
   DELETE FROM cooks; */
INSERT INTO recipes (cook_id, title) SELECT id, name || '; soup' FROM cooks;

-- migrate:down
DELETE FROM recipes;
DELETE FROM cooks;
