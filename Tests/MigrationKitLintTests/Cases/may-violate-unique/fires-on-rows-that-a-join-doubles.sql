-- A person may have two phones.
-- migration: 0001_people
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE phones (id INTEGER PRIMARY KEY, person INTEGER REFERENCES people (id), phone TEXT);
CREATE INDEX phones_person ON phones (person);
-- migration: 0002_phone
CREATE TABLE people_new (id INTEGER PRIMARY KEY, name TEXT, phone TEXT);
INSERT INTO people_new SELECT p.id, p.name, f.phone FROM people AS p LEFT JOIN phones AS f ON f.person = p.id;  -- expect: may-violate-unique
DROP TABLE people;
ALTER TABLE people_new RENAME TO people;
