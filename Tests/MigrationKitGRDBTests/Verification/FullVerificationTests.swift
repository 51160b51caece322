import Foundation
import GRDB
import MigrationKit
import MigrationKitSchema
import Testing

/// One fault at a time, each found by the check that is there for it.
@Suite struct FullVerificationTests {
    let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
                    CREATE TABLE "it's. ""a"" note" (
                        id INTEGER PRIMARY KEY, author INTEGER REFERENCES author,
                        "check" TEXT DEFAULT 'check (', -- check (0)
                        body TEXT CONSTRAINT long CHECK (length(body) > 1 /* ) */ AND body <> ')'),
                        size INTEGER AS (length(body)) STORED,
                        Check(id < 1000)
                    );
                    CREATE INDEX note_body ON "it's. ""a"" note" (body);
                    CREATE TABLE pair (a TEXT, b INTEGER CHECK (b > 0), PRIMARY KEY (b, a))
                        WITHOUT ROWID;
                    CREATE TABLE exact (rowid TEXT, number INT, words TEXT, any ANY) STRICT;
                    CREATE VIRTUAL TABLE fts USING fts5 (name, content = 'author', content_rowid = 'id');
                    CREATE VIRTUAL TABLE "old using" USING fts4 (body);
                    CREATE VIRTUAL TABLE bare USING fts4 (content="", body);
                    INSERT INTO bare (docid, body) VALUES (1, 'some words');
                    CREATE VIRTUAL TABLE box USING rtree (id, low, high);
                    CREATE VIEW big AS SELECT 1;
                    INSERT INTO author VALUES (1, 'Ada'), (2, 'Grace');
                    INSERT INTO "it's. ""a"" note" (id, author, body) VALUES (5, 1, 'five'), (6, 1, 'six');
                    INSERT INTO pair VALUES ('a', 1), ('b', 2), ('c', 3);
                    INSERT INTO exact VALUES ('x', 1, 'one', 1.5), ('y', 2, 'two', x'00');
                    INSERT INTO fts (rowid, name) SELECT id, name FROM author;
                    INSERT INTO "old using" VALUES ('some words');
                    INSERT INTO box VALUES (1, 2.0, 3.0);
                    """
            )
        }
    }

    private static let note = "it's. \"a\" note"

    private func check(_ name: String) throws -> VerificationCheck {
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: queue, isFull: true)
        return try #require(checks.first { $0.name == name })
    }

    /// Changes the text of an object behind SQLite's back.
    private func rewrite(_ old: String, as new: String) throws {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA writable_schema = 1")
            try db.execute(
                sql: "UPDATE sqlite_master SET sql = replace(sql, ?, ?)",
                arguments: [old, new]
            )
            try #require(db.changesCount > 0)
            try db.execute(sql: "PRAGMA writable_schema = RESET")
        }
        queue.releaseMemory()
    }

    private func loosely(_ sql: String) throws {
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON;
                    \(sql);
                    PRAGMA ignore_check_constraints = OFF; PRAGMA foreign_keys = ON;
                    """
            )
        }
    }

    // MARK: - Rows

    @Test func aSoundDatabaseHasNoFindings() throws {
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: queue, isFull: true)
        #expect(
            checks.map(\.name) == [
                "quick_check", "foreign_key_check", "full_text", "integrity_check",
                "row_constraints", "virtual_tables", "ledger",
            ]
        )
        #expect(checks.filter { !$0.ok } == [])
    }

    @Test func aRowThatViolatesACheckIsNamed() throws {
        try loosely("UPDATE \"it's. \"\"a\"\" note\" SET body = ')' WHERE id = 6")
        let check = try check("row_constraints")
        #expect(check.detail == "1 row breaks a constraint")
        #expect(check.findings.map(\.table) == [Self.note])
        #expect(check.findings.map(\.rowID) == [6])
        #expect(check.findings.first?.text.contains("CHECK (length(body) > 1") == true)
        #expect(try !self.check("integrity_check").ok)

        try loosely("UPDATE \"it's. \"\"a\"\" note\" SET body = 'six', id = 2000 WHERE id = 6")
        let other = try self.check("row_constraints")
        #expect(other.findings.map(\.rowID) == [2000])
        #expect(other.findings.first?.text.hasSuffix("violates CHECK (id < 1000)") == true)
    }

    @Test func aRowWithoutARowidIsNamedByItsPlace() throws {
        try loosely("UPDATE pair SET b = -7 WHERE a = 'c'")
        let finding = try #require(check("row_constraints").findings.first)
        #expect(finding.table == "pair")
        #expect(finding.rowID == nil)
        // Behind the change it is the first one; its values stand nowhere.
        #expect(
            finding.text
                == "row 1 of 'pair', in primary key order, violates CHECK (b > 0)"
        )
    }

    @Test func aRowWithoutARequiredValueIsNamed() throws {
        try rewrite("name TEXT NOT NULL", as: "name TEXT         ")
        try queue.write { try $0.execute(sql: "UPDATE author SET name = NULL WHERE id = 2") }
        try rewrite("name TEXT         ", as: "name TEXT NOT NULL")
        let check = try check("row_constraints")
        #expect(check.findings.map(\.text) == ["row 2 of 'author' has no value in 'name'"])
        #expect(check.findings.map(\.rowID) == [2])
    }

    @Test func aValueOfAnotherTypeInAStrictTableIsNamed() throws {
        try rewrite("any ANY) STRICT", as: "any ANY)       ")
        try queue.write {
            try $0.execute(sql: "UPDATE exact SET number = 'secret' WHERE number = 2")
        }
        try rewrite("any ANY)       ", as: "any ANY) STRICT")
        let check = try check("row_constraints")
        #expect(
            check.findings.map(\.text)
                == ["row 2 of 'exact' has a value in 'number' that is not INT"]
        )
        #expect(check.findings.map(\.table) == ["exact"])
        #expect(check.findings.map(\.rowID) == [2])
    }

    @Test func ofManyFindingsSomeAreListedAndAllCounted() throws {
        try loosely(
            """
            WITH RECURSIVE c (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM c WHERE i < 59)
            INSERT INTO "it's. ""a"" note" (id, author, body) SELECT i, 1, 'x' FROM c
            """
        )
        let check = try check("row_constraints")
        #expect(check.detail == "50 rows break constraints")
        #expect(check.findings.count == 20)
        #expect(check.unlistedCount == 30)
    }

    @Test func aRowWithoutItsParentIsNamed() throws {
        try loosely("UPDATE \"it's. \"\"a\"\" note\" SET author = 77 WHERE id = 5")
        let check = try check("foreign_key_check")
        #expect(check.detail == "1 row refers to a parent that doesn't exist")
        #expect(
            check.findings == [
                VerificationFinding(
                    "row 5 of '\(Self.note)' refers to a row of 'author' that doesn't exist",
                    table: Self.note,
                    rowID: 5
                )
            ]
        )
    }

    @Test func aRowThatIsMissingFromAnIndexIsNamed() throws {
        // An index on other values than it was filled with.
        try queue.write { try $0.execute(sql: "CREATE INDEX n ON author (name)") }
        try rewrite("author (name)", as: "author (upper(name))")
        let check = try check("integrity_check")
        #expect(check.findings.contains { $0.table == "author" && $0.rowID == 2 })
        #expect(check.findings.allSatisfy { $0.table == "author" })
        // That is no business of the quick one.
        #expect(try self.check("quick_check").ok)
    }

    // MARK: - Virtual tables

    @Test func aSearchThatIsOutOfStepWithItsContentIsNamed() throws {
        try queue.write { try $0.execute(sql: "UPDATE author SET name = 'Zoe' WHERE id = 2") }
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: queue, isFull: true)
        #expect(checks.filter { !$0.ok }.map(\.name) == ["virtual_tables"])
        #expect(checks.first { !$0.ok }?.findings.map(\.table) == ["fts"])
    }

    @Test(arguments: [
        ("DELETE FROM fts_data WHERE id > 10", "fts"),
        ("UPDATE \"old using_segdir\" SET root = x'00'", "old using"),
        ("UPDATE box_node SET data = zeroblob(length(data))", "box"),
    ])
    func aDamagedVirtualTableIsNamed(damage: String, table: String) throws {
        try queue.write { try $0.execute(sql: damage) }
        #expect(try check("virtual_tables").findings.map(\.table) == [table])
    }

    @Test func aTableWhoseModuleIsMissingIsNamed() throws {
        try rewrite("USING rtree", as: "USING rtrei")
        let check = try check("virtual_tables")
        #expect(check.ok)
        #expect(check.note == "not checked: box needs the module 'rtrei'")
    }

    @Test func theConnectionIsOutsideOfATransactionAfterwards() throws {
        #expect(try check("virtual_tables").ok)
        #expect(queue.inDatabase { !$0.isInsideTransaction })
    }

    // MARK: - Watching

    @Test func everyCheckIsToldWhenItBeginsAndWhenItIsDone() throws {
        let events = Recorder<VerificationEvent>()
        let checks = try GRDBMigrationRunner(steps: []).verificationChecks(
            in: queue,
            isFull: true,
            options: .init(observer: { events.append($0) })
        )
        let started = events.values.compactMap {
            if case .checkStarted(let name) = $0 { name } else { nil }
        }
        let finished = events.values.compactMap {
            if case .checkFinished(let check) = $0 { check } else { nil }
        }
        #expect(started == checks.map(\.name))
        #expect(finished == checks)
    }

    @Test func aVerificationIsCancelledInTheMiddleOfACheck() async throws {
        try await queue.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE c (i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM c WHERE i < 200000)
                    INSERT INTO author SELECT i, 'name ' || i FROM c
                    """
            )
        }
        let cancellation = Cancellation()
        let events = Recorder<VerificationEvent>()
        await #expect(throws: CancellationError.self) {
            try await asyncRun { [queue] in
                try GRDBMigrationRunner(steps: []).verificationChecks(
                    in: queue,
                    isFull: true,
                    options: .init(
                        cancellation: cancellation,
                        observer: { event in
                            events.append(event)
                            if event == .checkStarted(name: "quick_check") { cancellation.cancel() }
                        }
                    )
                )
            }
        }
        // On a busy machine it may be reported to go on.
        #expect(
            events.values.filter { if case .checkContinues = $0 { false } else { true } }
                == [.checkStarted(name: "quick_check")]
        )
        // And the connection works as before.
        #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT 1") } == 1)
    }
}
