import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// Full-text tables that find their texts in another table by rowids, which `VACUUM` and rebuilds
/// change.
@Suite struct FullTextIndexTests {
    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
    }

    /// Notes without an `INTEGER PRIMARY KEY`, of which the first one is gone, and their index.
    private static func notes(_ index: String, _ rebuild: String = rebuild) -> MigrationStep<
        Database
    > {
        step(
            "0001_notes",
            """
            CREATE TABLE note (body TEXT);
            CREATE VIEW texts AS SELECT rowid AS id, body FROM note;
            INSERT INTO note VALUES ('bread'), ('milk'), (NULL), ('milk');
            DELETE FROM note WHERE body = 'bread';
            CREATE VIRTUAL TABLE note_search USING \(index);
            \(rebuild);
            """
        )
    }

    private static let rebuild = "INSERT INTO note_search (note_search) VALUES ('rebuild')"
    private static let mismatch = GRDBMigrationVerificationError.fullTextMismatch(
        table: "note_search",
        content: "note"
    )

    private static func compact(_ sql: String = "VACUUM") -> MigrationStep<Database> {
        MigrationStep(identifier: "0002_compact", usesTransaction: false) {
            try $0.execute(sql: sql)
        }
    }

    private func failedChecks(_ runner: GRDBMigrationRunner) throws -> [String] {
        try runner.verificationChecks(in: queue).filter { !$0.ok }.map(\.name)
    }

    @Test(arguments: [
        "fts5 (body, content='note')", "fts5 (body, content=NOTE, content_rowid=oid)",
        #"fts4 (content="note", body)"#, "fts5 (body, content=note, columnsize=0)",
    ])
    func vacuumThatLeavesAnIndexWrongIsNotRecorded(index: String) throws {
        let runner = try GRDBMigrationRunner(steps: [Self.notes(index), Self.compact()])
        #expect(throws: Self.mismatch) { try runner.migrate(in: queue) }
        #expect(try runner.pendingMigrationIdentifiers(in: queue) == ["0002_compact"])
        // Without sizes, only the module's own check finds it. That of FTS4 is part of quick_check.
        let hasSizes = !index.contains("columnsize")
        #expect(try failedChecks(runner).contains("full_text") == hasSizes)
        if hasSizes {
            #expect(throws: GRDBMigrationVerificationError.self) {
                try runner.runPostMigrationChecks(in: queue)
            }
            #expect(throws: GRDBMigrationVerificationError.self) {
                try queue.read(GRDBMigrationVerifier.verifyIntegrity)
            }
        }

        let rebuilding = Self.compact("VACUUM; \(Self.rebuild)")
        let corrected = try GRDBMigrationRunner(steps: [Self.notes(index), rebuilding])
        #expect(try corrected.migrate(in: queue, options: MigrationOptions()).verified)
        #expect(try failedChecks(corrected) == [])
    }

    @Test func indexOfAViewIsComparedWithTheView() throws {
        let steps = [Self.notes("fts5 (body, content=texts, content_rowid=id)"), Self.compact()]
        let runner = try GRDBMigrationRunner(steps: steps)
        #expect(
            throws: GRDBMigrationVerificationError.fullTextMismatch(
                table: "note_search",
                content: "texts"
            )
        ) {
            try runner.migrate(in: queue)
        }
        #expect(try failedChecks(runner) == ["full_text"])
    }

    @Test func vacuumOfARollbackIsComparedToo() throws {
        let compact = MigrationStep<Database>(
            identifier: "0002_compact",
            usesTransaction: false,
            apply: { _ in },
            rollback: { try $0.execute(sql: "VACUUM") }
        )
        let runner = try GRDBMigrationRunner(
            steps: [Self.notes("fts5 (body, content=note)"), compact]
        )
        try runner.migrate(in: queue)
        #expect(throws: Self.mismatch) { try runner.rollbackLastMigration(in: queue) }
    }

    @Test func rebuildThatGivesRowsOtherRowidsFails() throws {
        let rebuilt = step(
            "0002_rebuild",
            """
            CREATE TABLE new_note (body TEXT DEFAULT '');
            INSERT INTO new_note (body) SELECT body FROM note;
            DROP VIEW texts; DROP TABLE note; ALTER TABLE new_note RENAME TO note;
            """
        )
        let runner = try GRDBMigrationRunner(
            steps: [Self.notes("fts5 (body, content=note)"), rebuilt]
        )
        #expect(throws: Self.mismatch) { try runner.migrate(in: queue) }
        #expect(try failedChecks(runner) == [])
        #expect(throws: Self.mismatch) {
            try runner.migrate(in: queue, options: MigrationOptions(transaction: .allOrNothing))
        }
    }

    /// Neither the rowid of an `INTEGER PRIMARY KEY` nor a column changes.
    @Test(arguments: [
        "CREATE TABLE n (id INTEGER PRIMARY KEY, body TEXT)|content=n, content_rowid=id",
        "CREATE TABLE n (id INTEGER PRIMARY KEY, body TEXT)|content=n",
        "CREATE TABLE n (id INTEGER UNIQUE, body TEXT)|content=n, content_rowid=id",
        "CREATE TABLE n (rowid INTEGER UNIQUE, body TEXT)|content=n",
        "CREATE TABLE n (id INTEGER PRIMARY KEY, body TEXT) WITHOUT ROWID|content=n, content_rowid=id",
    ])
    func rowidsThatStayAreNotCompared(_ text: String) throws {
        let parts = text.split(separator: "|").map(String.init)
        let key = parts[0].contains("(rowid") ? "rowid" : "id"
        let notes = step(
            "0001_notes",
            """
            \(parts[0]);
            INSERT INTO n (\(key), body) VALUES (2, 'a'), (5, 'b');
            CREATE VIRTUAL TABLE search USING fts5 (body, \(parts[1]));
            INSERT INTO search (search) VALUES ('rebuild');
            """
        )
        let runner = try GRDBMigrationRunner(steps: [notes, Self.compact()])
        #expect(try runner.migrate(in: queue, options: MigrationOptions()).verified)
        #expect(try failedChecks(runner) == [])
        // The rows are found.
        let found = try queue.read {
            try Int.fetchAll($0, sql: "SELECT rowid FROM search WHERE search MATCH 'b'")
        }
        #expect(found == [5])
    }

    private static let keyed = """
        CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT);
        INSERT INTO note (body) VALUES ('bread'), ('milk')
        """

    @Test(arguments: [
        "fts5 (body, content=note, content_rowid=id)", #"fts4 (content="note", body)"#,
    ])
    func indexThatIsNotFilledFails(_ index: String) throws {
        let create = "CREATE VIRTUAL TABLE note_search USING \(index)"
        let notes = step("0001_notes", Self.keyed)
        let empty = try GRDBMigrationRunner(steps: [notes, step("0002_search", create)])
        #expect(throws: Self.mismatch) { try empty.migrate(in: queue) }
        #expect(try empty.pendingMigrationIdentifiers(in: queue) == ["0002_search"])
        #expect(throws: Self.mismatch) {
            try empty.migrate(
                in: DatabaseQueue(),
                options: MigrationOptions(transaction: .allOrNothing)
            )
        }
        let filled = try GRDBMigrationRunner(
            steps: [notes, step("0002_search", "\(create);\(Self.rebuild)")]
        )
        #expect(try filled.migrate(in: queue, options: MigrationOptions()).verified)
    }

    @Test func rowsThatNoTriggerFollowsFail() throws {
        let search = step(
            "0002_search",
            "CREATE VIRTUAL TABLE note_search USING fts5 (body, content=note, content_rowid=id);"
                + Self.rebuild
        )
        let shout = "UPDATE note SET body = upper(body) || '!'"
        let steps = [step("0001_notes", Self.keyed), search]
        try GRDBMigrationRunner(steps: steps).migrate(in: queue)
        let update = "\(shout) || ' and more'"
        let wrong = try GRDBMigrationRunner(steps: steps + [step("0003_shout", update)])
        #expect(throws: Self.mismatch) { try wrong.migrate(in: queue) }
        // Also if the same run has made it.
        #expect(throws: Self.mismatch) { try wrong.migrate(in: DatabaseQueue()) }
        let right = try GRDBMigrationRunner(
            steps: steps + [step("0003_shout", "\(update);\(Self.rebuild)")]
        )
        #expect(try right.migrate(in: queue, options: MigrationOptions()).verified)
    }

    @Test func indexOfSomeRowsIsLeftAlone() throws {
        let some =
            "INSERT INTO note_search (rowid, body) SELECT rowid, body FROM note WHERE rowid = 2"
        let index = "fts5 (body, content=note)"
        let other = MigrationStep<Database>(identifier: "0002_other", usesTransaction: false) {
            try $0.execute(sql: "CREATE TABLE other (id INTEGER PRIMARY KEY)")
        }
        let runner = try GRDBMigrationRunner(steps: [Self.notes(index, some), other])
        #expect(try runner.migrate(in: queue, options: MigrationOptions()).verified)
    }

    /// What was wrong before a run is no fault of it, and it isn't called verified.
    @Test func earlierMismatchIsToldFromThatOfARun() throws {
        let notes = Self.notes("fts5 (body, content=note)")
        try GRDBMigrationRunner(steps: [notes]).migrate(in: queue)
        try queue.writeWithoutTransaction { try $0.execute(sql: "VACUUM") }
        let later = step("0002_more", "CREATE TABLE more (id INTEGER PRIMARY KEY)")
        let again = MigrationStep<Database>(identifier: "0003_again", usesTransaction: false) {
            try $0.execute(sql: "VACUUM")
        }
        let runner = try GRDBMigrationRunner(steps: [notes, later, again])
        let report = try runner.migrate(in: queue, options: MigrationOptions())
        #expect(report.steps.map(\.identifier) == ["0002_more", "0003_again"])
        #expect(!report.verified)
        #expect(try failedChecks(runner) == ["full_text"])
    }
}
