DROP VIEW "recent; recipes";
DROP TRIGGER recipes_changed;
DROP TABLE changes