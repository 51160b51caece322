-- A migration that loads code runs with all rights of the program.
-- migration: 0001_extension
SELECT load_extension('spellfix');  -- expect: load-extension
