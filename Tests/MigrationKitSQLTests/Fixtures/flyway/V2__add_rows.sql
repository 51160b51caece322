INSERT INTO cooks (id, name) VALUES (1, 'Ana'), (2, 'O''Brien;');
INSERT INTO cooks VALUES (3, 'Zoë', '
-- undo
DROP TABLE cooks;
');
/* Not yet:
-- undo
   DELETE FROM cooks; */
INSERT INTO recipes (cook_id, title) SELECT id, name || '; soup' FROM cooks;
