import GRDB
import MigrationKit
import MigrationKitGRDB
import TestSupport
import Testing

/// A row without its parent is one error, whichever step of a run leaves it.
@Suite struct ForeignKeyErrorTests {
    private let store: EncryptedStore
    private let writer: DatabaseQueue

    init() throws {
        store = try EncryptedStore()
        writer = try store.open()
    }

    private static let orphans = """
        INSERT INTO item VALUES (1, 'a');
        INSERT INTO tag (itemId) VALUES (1), (7), (8)
        """

    private static let message = """
        FOREIGN KEY constraint violation - from tag(itemId) to item(id), \
        in 2 rows: rowid 2, 3 (0004_orphan.sql)
        """

    enum Place: CaseIterable {
        case last, earlier, allOrNothing, dryRun, withoutTransaction, rollback
    }

    @Test(arguments: Place.allCases)
    func everyPlaceGivesTheSameError(_ place: Place) throws {
        let orphan = MigrationStep<Database>(
            identifier: "0004_orphan",
            sourceFile: "0004_orphan.sql",
            usesTransaction: place != .withoutTransaction,
            apply: { db in
                if place == .rollback { return }
                if place == .withoutTransaction {
                    try db.execute(sql: "PRAGMA foreign_keys = OFF")
                }
                try db.execute(sql: Self.orphans)
            },
            rollback: { try $0.execute(sql: Self.orphans) }
        )
        var steps = itemSteps() + [orphan]
        if place == .earlier { steps.append(step("0005", "CREATE TABLE later (id)")) }
        let runner = try GRDBMigrationRunner(steps: steps)
        if place == .rollback { try runner.migrate(in: writer) }
        let error = #expect(throws: DatabaseError.self) {
            switch place {
            case .dryRun: _ = try runner.dryRun(in: writer)
            case .rollback: try runner.rollbackLastMigration(in: writer)
            case .allOrNothing:
                try runner.migrate(in: writer, options: .init(transaction: .allOrNothing))
            default: try runner.migrate(in: writer)
            }
        }
        #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY)
        #expect(error?.message == Self.message)
    }

    @Test func nomoreThanTenRowsAreNamed() throws {
        let values = (2...20).map { "(\($0))" }.joined(separator: ", ")
        let runner = try GRDBMigrationRunner(
            steps: itemSteps() + [step("0004", "INSERT INTO tag (itemId) VALUES \(values)")]
        )
        let error = #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        #expect(
            error?.message?.contains("in 19 rows: rowid 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more")
                == true
        )
    }

    @Test func otherConstraintsAreMentioned() throws {
        let sql = """
            CREATE TABLE child (p REFERENCES item (id));
            INSERT INTO child VALUES (8), (9);
            INSERT INTO tag (itemId) VALUES (7)
            """
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [step("0004", sql)])
        let error = #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        let message = try #require(error?.message)
        #expect(message.contains(" row"))
        #expect(message.contains("; other constraints are violated, too"))
    }

    @Test func rowsWithoutARowidAreCounted() throws {
        let sql = """
            CREATE TABLE child (p PRIMARY KEY REFERENCES item (id)) WITHOUT ROWID;
            INSERT INTO child VALUES (8), (9)
            """
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [step("0004", sql)])
        let error = #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
        #expect(error?.message?.contains(", in 2 rows (") == true)
    }

    @Test func constraintThatIsCheckedAtTheCommitIsNamed() throws {
        let step = MigrationStep<Database>(
            identifier: "0001",
            sourceFile: "0001.sql",
            foreignKeyChecks: .immediate
        ) { db in
            try db.execute(
                sql: """
                    CREATE TABLE parent (id INTEGER PRIMARY KEY);
                    CREATE TABLE child (p REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
                    INSERT INTO child VALUES (3)
                    """
            )
        }
        let error = #expect(throws: DatabaseError.self) {
            try GRDBMigrationRunner(steps: [step]).migrate(in: writer)
        }
        #expect(error?.message?.contains("from child(p) to parent(id)") == true)
    }

    /// The check is the dearest part of a large run.
    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func foreignKeysAreCheckedOnceForEveryStepThatWantsIt(
        _ transaction: MigrationTransaction
    ) throws {
        let checks = Recorder<String>()
        let writer = try store.open { configuration in
            configuration.prepareDatabase { db in
                db.trace { event in
                    if "\(event)".lowercased().contains("foreign_key_check") {
                        checks.append("\(event)")
                    }
                }
            }
        }
        let off = MigrationStep<Database>(
            identifier: "0004",
            sourceFile: "",
            foreignKeyChecks: .off
        ) { try $0.execute(sql: "CREATE TABLE a (id)") }
        let steps = itemSteps() + [off]
        try GRDBMigrationRunner(steps: steps)
            .migrate(in: writer, options: .init(transaction: transaction))
        #expect(checks.values.count == 3, "\(checks.values)")
    }

    /// It jumps from parent to parent, in the order of the children.
    @Test func largeDatabaseIsCheckedWithALargeCache() throws {
        let statements = Recorder<String>()
        let writer = try store.open { configuration in
            configuration.prepareDatabase { db in
                db.trace { statements.append("\($0)") }
            }
        }
        let large = step("0004", "CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(4000000))")
        try GRDBMigrationRunner(steps: itemSteps() + [large]).migrate(in: writer)
        let checks = statements.values.filter {
            $0.contains("cache_size =") || $0.contains("foreign_key_check")
        }
        let last = try #require(checks.lastIndex { $0.contains("foreign_key_check") })
        #expect(checks.count == last + 2 && checks[last - 1].contains("cache_size"), "\(checks)")
    }
}
