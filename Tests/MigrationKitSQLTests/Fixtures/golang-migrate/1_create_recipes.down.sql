DROP TABLE recipes;
DROP TABLE cooks;
