import Testing

import MigrationKit
@testable import MigrationKitSQL

/// What a statement does to which table, without its values.
@Suite struct SQLSubjectTests {
    @Test(arguments: [
        ("ALTER TABLE notes ADD COLUMN a", "ALTER TABLE notes"),
        ("  -- first\n/* x */ alter table main.notes RENAME TO b", "ALTER TABLE notes"),
        (#"ALTER TABLE "my notes" ADD COLUMN a"#, "ALTER TABLE my notes"),
        ("ALTER TABLE [my].[notes] ADD COLUMN a", "ALTER TABLE notes"),
        ("CREATE TABLE IF NOT EXISTS notes (a)", "CREATE TABLE notes"),
        ("CREATE TEMP TABLE notes AS SELECT 'geheim'", "CREATE TABLE notes"),
        ("CREATE VIRTUAL TABLE words USING fts5(a)", "CREATE TABLE words"),
        ("CREATE UNIQUE INDEX i ON notes (a)", "CREATE INDEX i ON notes"),
        ("CREATE INDEX IF NOT EXISTS main.i ON notes (a)", "CREATE INDEX i ON notes"),
        ("CREATE VIEW v AS SELECT 1", "CREATE VIEW v"),
        (
            "CREATE TRIGGER t AFTER UPDATE OF a, b ON notes BEGIN SELECT 1; END",
            "CREATE TRIGGER t ON notes"
        ),
        ("DROP TABLE IF EXISTS notes", "DROP TABLE notes"), ("DROP INDEX i", "DROP INDEX i"),
        ("INSERT INTO notes VALUES ('geheim')", "INSERT INTO notes"),
        ("INSERT OR IGNORE INTO notes VALUES ('geheim')", "INSERT INTO notes"),
        ("REPLACE INTO notes VALUES (1)", "REPLACE INTO notes"),
        ("UPDATE notes SET a = 'geheim'", "UPDATE notes"),
        ("UPDATE OR REPLACE notes SET a = 1", "UPDATE notes"),
        ("DELETE FROM notes WHERE a = 'geheim'", "DELETE FROM notes"),
    ])
    func theTableIsNamed(_ sql: String, _ subject: String) {
        #expect(SQLSubject(sql: sql)?.description == subject)
    }

    @Test(arguments: [
        "", "SELECT 'geheim'", "PRAGMA key = 'geheim'", "ATTACH 'geheim' AS a", "CREATE",
        "DROP TABLE",
        "UPDATE 'geheim' SET a = 1", "ALTER geheim", "WITH a AS (SELECT 1) DELETE FROM b",
    ])
    func nothingElseIsShown(_ sql: String) {
        #expect(SQLSubject(sql: sql) == nil)
    }
}
