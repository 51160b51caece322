import GRDB
import MigrationKitTestSupport
import TestSupport
import Testing

/// Which schemas count as the same: a rollback that leads to `after` is to restore `before`.
@Suite struct CanonicalSchemaTests {
    private func check(_ before: String, _ after: String) throws {
        let steps = [
            step("0001", before),
            step("0002", "DROP TABLE a; CREATE TABLE b (id)", down: "DROP TABLE b; \(after)"),
        ]
        try MigrationCheck(steps: steps).everyRollback()
    }

    @Test(arguments: [
        (
            "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT)",
            """
            CREATE TABLE tmp (
                "id" integer primary key, -- a comment
                `name` TEXT /* and
                another */ , size
            );
            ALTER TABLE tmp DROP COLUMN size;
            ALTER TABLE tmp RENAME TO a;
            """
        ),
        (
            "CREATE TABLE a (id, \"two words\" DEFAULT ' -- text', [c] CHECK (c IN (1, 2)))",
            "CREATE TABLE a(id,\"two words\" DEFAULT ' -- text',c CHECK(c IN(1,2)))"
        ),
        (
            "CREATE TABLE a (id PRIMARY KEY) STRICT, WITHOUT ROWID",
            "CREATE TABLE [a] (id PRIMARY KEY)STRICT,WITHOUT\nROWID"
        ),
    ])
    func sameMeaningIsTheSameSchema(_ before: String, _ after: String) throws {
        let typed = before.replacing("id PRIMARY", with: "id ANY PRIMARY")
        try check(typed, after.replacing("id PRIMARY", with: "id ANY PRIMARY"))
    }

    @Test(arguments: [
        ("CREATE TABLE a (id)", "CREATE TABLE a (id TEXT)"),
        ("CREATE TABLE a (id DEFAULT 'a')", "CREATE TABLE a (id DEFAULT 'A')"),
        ("CREATE TABLE a (id DEFAULT 'a  b')", "CREATE TABLE a (id DEFAULT 'a b')"),
        ("CREATE TABLE a (id, name)", "CREATE TABLE a (name, id)"),
        (
            "CREATE TABLE a (id INTEGER PRIMARY KEY)",
            "CREATE TABLE a (id INTEGER PRIMARY KEY AUTOINCREMENT)"
        ),
        ("CREATE TABLE a (id)", "CREATE TABLE a (id); CREATE INDEX i ON a (id)"),
        ("CREATE TABLE a (id)", "CREATE TABLE a (id); CREATE VIEW v AS SELECT * FROM a"),
        ("CREATE TABLE a (\"two words\")", "CREATE TABLE a (\"Two words\")"),
        ("CREATE TABLE a (id INT PRIMARY KEY)", "CREATE TABLE a (id INT PRIMARY KEY) STRICT"),
    ])
    func anotherMeaningIsAnotherSchema(_ before: String, _ after: String) throws {
        #expect(throws: MigrationCheckError.self) { try check(before, after) }
    }

    @Test func onlyWhatDiffersIsShown() throws {
        let found = #expect(throws: MigrationCheckError.self) {
            try check(
                "CREATE TABLE a (id INTEGER PRIMARY KEY, one TEXT, two TEXT, three TEXT)",
                "CREATE TABLE a (id INTEGER PRIMARY KEY, one TEXT, two  BLOB, three TEXT)"
            )
        }
        #expect(found?.difference == "  table a\n-   two TEXT\n+   two BLOB")
    }
}
