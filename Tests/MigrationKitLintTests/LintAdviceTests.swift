import GRDB
import MigrationKitLint
import Testing

/// SQLite's own messages lead to the rule that explains them.
@Suite struct LintAdviceTests {
    /// A statement that SQLite refuses on this schema, and the rule.
    private static let refused: [(sql: String, rule: LintRule)] = [
        ("INSERT INTO child VALUES (9)", .mayViolateForeignKey),
        ("PRAGMA foreign_keys = ON; INSERT INTO lost VALUES (1)", .foreignKeyMismatch),
        ("CREATE UNIQUE INDEX twice_a ON twice (a)", .mayViolateUnique),
        ("INSERT INTO parent VALUES (2, NULL)", .mayViolateNotNull),
        ("INSERT INTO parent VALUES (2, '')", .mayViolateCheck),
        ("INSERT INTO strictly VALUES ('a')", .mayViolateStrict),
        ("ALTER TABLE parent ADD COLUMN b NOT NULL", .addColumnFails),
        ("ALTER TABLE parent ADD COLUMN b UNIQUE", .addColumnFails),
        ("ALTER TABLE parent ADD COLUMN b PRIMARY KEY", .addColumnFails),
        ("ALTER TABLE parent ADD COLUMN b DEFAULT CURRENT_TIMESTAMP", .addColumnFails),
        ("ALTER TABLE parent ADD COLUMN b DEFAULT 1 REFERENCES parent (id)", .addColumnFails),
        ("ALTER TABLE parent ADD COLUMN name TEXT", .addColumnFails),
        ("ALTER TABLE parent DROP COLUMN id", .dropColumnFails),
        ("ALTER TABLE parent DROP COLUMN name", .dropColumnFails),
        (
            "CREATE VIEW broken AS SELECT absent FROM twice; ALTER TABLE lost RENAME TO found",
            .danglingReference
        ),
        ("CREATE TABLE parent (id)", .migrationFails),
        ("CREATE INDEX parent_name ON child (id)", .migrationFails),
        ("UPDATE parent SET title = 1", .migrationFails),
        ("INSERT INTO parent (title) VALUES (1)", .migrationFails),
        ("SELECT * FROM absent", .migrationFails),
        ("DROP INDEX absent", .migrationFails),
        ("BEGIN; VACUUM", .noEffectInTransaction),
        ("BEGIN; PRAGMA synchronous = FULL", .noEffectInTransaction),
    ]

    @Test(arguments: refused)
    func messagesOfSQLiteHaveTheirRule(_ sql: String, _ rule: LintRule) throws {
        let queue = try DatabaseQueue()
        let error = try #require(
            throws: DatabaseError.self
        ) {
            try queue.writeWithoutTransaction { db in
                try db.execute(
                    sql: """
                        CREATE TABLE parent (id INTEGER PRIMARY KEY, name NOT NULL CHECK (name <> ''));
                        CREATE INDEX parent_name ON parent (name);
                        CREATE TABLE child (id REFERENCES parent (id));
                        CREATE TABLE twice (a);
                        INSERT INTO twice VALUES (1), (1);
                        CREATE TABLE strictly (a INTEGER) STRICT;
                        CREATE TABLE unkeyed (a);
                        CREATE TABLE lost (a REFERENCES unkeyed (a));
                        INSERT INTO parent VALUES (1, 'a');
                        """
                )
                defer { if db.isInsideTransaction { try? db.rollback() } }
                try db.execute(sql: sql)
            }
        }
        let message = try #require(error.message)
        let advice = try #require(LintAdvice(sqliteMessage: message), "\(message)")
        #expect(advice.rule == rule, "\(message)")
        #expect(!advice.text.isEmpty)
    }

    @Test func checksOfForeignKeysHaveTheirRule() {
        let message = "FOREIGN KEY constraint violation - from tag(item) to item(id), in 2 rows"
        #expect(LintAdvice(sqliteMessage: message)?.rule == .mayViolateForeignKey)
    }

    /// A name in a message doesn't decide.
    @Test(arguments: [
        #"near "CREAT": syntax error"#, "disk I/O error", "database is locked",
        "no such function: cannot drop column", "interrupted",
    ])
    func otherErrorsHaveNone(_ message: String) {
        #expect(LintAdvice(sqliteMessage: message) == nil)
    }

    /// The values that CAST would change are found, and no others, whatever the old column's type is.
    @Test(arguments: ["TEXT", "INTEGER", ""])
    func whatCastWouldLoseIsFoundFirst(_ type: String) throws {
        let message = "cannot store TEXT value in INTEGER column new_t.c"
        let advice = try #require(LintAdvice(sqliteMessage: message))
        let query = try #require(
            advice.text.split(separator: "'").first { $0.hasPrefix("SELECT ") }
        )
        let inPage = query.replacing("FROM t", with: "FROM notes")
            .replacing("(c", with: "(changed")
        #expect(advice.rule.page.contains("\(inPage);"))
        let found = try DatabaseQueue().write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (c \(type));
                    INSERT INTO t VALUES (12), ('12'), ('-3'), (NULL), ('12 kg'), ('abc'), (''), (1.5);
                    """
            )
            return try String.fetchAll(db, sql: String(query))
        }
        #expect(found == ["12 kg", "abc", "", "1.5"])
    }

    @Test func everyRuleHasASummary() {
        for rule in LintRule.allCases {
            #expect(rule.summary.hasSuffix("."))
        }
        #expect(Set(LintRule.allCases.map(\.summary)).count == LintRule.allCases.count)
    }
}
