-- tables
CREATE TABLE notes (id INTEGER PRIMARY KEY, changed INTEGER);
-- rows
INSERT INTO notes (changed) VALUES (5), (NULL), ('2026-01-02 03:04:05'), (5), ('1767323045'), ('12 kg');
-- example 1: lists
--   3|2026-01-02 03:04:05
--   6|12 kg
-- example 2: finds
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- example 3: keeps
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
-- then: SELECT id, changed, changed_text FROM notes
--   1|5|NULL
--   2|NULL|NULL
--   3|1767323045|NULL
--   4|5|NULL
--   5|1767323045|NULL
--   6|NULL|12 kg
-- example 3: loses nothing
-- rows
INSERT INTO notes (changed) VALUES (5), ('12 kg'), (x'00');
-- page
DROP TABLE notes;
ALTER TABLE new_notes RENAME TO notes;
