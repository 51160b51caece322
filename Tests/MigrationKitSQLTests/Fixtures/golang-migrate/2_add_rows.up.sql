INSERT INTO cooks (id, name) VALUES (1, 'Ana'), (2, 'O''Brien;');
INSERT INTO cooks VALUES (3, 'Zoë', '
-- down
DROP TABLE cooks;
');
/* Not yet:
-- down
   DELETE FROM cooks; */
INSERT INTO recipes (cook_id, title) SELECT id, name || '; soup' FROM cooks;
