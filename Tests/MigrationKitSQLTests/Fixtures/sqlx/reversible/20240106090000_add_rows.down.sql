DELETE FROM recipes;
DELETE FROM cooks;
