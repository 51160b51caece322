import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// SQLite's procedure for changes that `ALTER TABLE` can't make drops the old table. With foreign
/// keys on, its children would go with it. <https://www.sqlite.org/lang_altertable.html#otheralter>
@Suite struct ParentRebuildTests {
    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    private static func rebuild(_ column: String) -> String {
        """
        CREATE TABLE item_new (id INTEGER PRIMARY KEY, \(column));
        INSERT INTO item_new SELECT id, name FROM item;
        DROP TABLE item;
        ALTER TABLE item_new RENAME TO item;
        """
    }

    /// Two rebuilds in a row, so that the one is in the middle of a run and the other at its end.
    private func runner(_ checks: MigrationForeignKeyChecks) throws -> GRDBMigrationRunner {
        func rebuilding(_ identifier: String, _ up: String, down: String) -> MigrationStep<Database>
        {
            MigrationStep(
                identifier: identifier,
                sourceFile: "",
                foreignKeyChecks: checks,
                apply: { try $0.execute(sql: Self.rebuild(up)) },
                rollback: { try $0.execute(sql: Self.rebuild(down)) }
            )
        }
        return try GRDBMigrationRunner(
            steps: itemSteps() + [
                rebuilding("0004_names", "name TEXT NOT NULL", down: "name TEXT"),
                rebuilding(
                    "0005_unique",
                    "name TEXT NOT NULL UNIQUE",
                    down: "name TEXT NOT NULL"
                ),
            ]
        )
    }

    private func plant(_ writer: any DatabaseWriter) throws {
        try writer.write { db in
            for id in 1...50 {
                try db.execute(
                    sql: "INSERT INTO item VALUES (?, ?)",
                    arguments: [id, "item \(id)"]
                )
                try db.execute(
                    sql: "INSERT INTO tag (itemId) VALUES (?), (?)",
                    arguments: [id, id]
                )
            }
        }
    }

    private func rows(_ writer: any DatabaseWriter) throws -> [String] {
        try writer.strings(
            "SELECT tag.id || ':' || item.id || ':' || name FROM tag JOIN item ON item.id = itemId"
        )
    }

    @Test(
        arguments: [MigrationTransaction.perStep, .allOrNothing],
        [
            (MigrationForeignKeyChecks.deferred, WriterKind.queue), (.deferred, .pool),
            (.off, .queue), (.off, .pool),
        ]
    )
    func everyChildIsKeptForthAndBack(
        _ transaction: MigrationTransaction,
        _ how: (checks: MigrationForeignKeyChecks, kind: WriterKind)
    ) throws {
        let writer = try how.kind.open(store)
        let runner = try runner(how.checks)
        let options = MigrationOptions(transaction: transaction)
        try runner.migrate(in: writer, upTo: "0003_tag_index", options: options)
        try plant(writer)
        let planted = try rows(writer)
        #expect(planted.count == 100)

        _ = try runner.dryRun(in: writer, options: options)
        #expect(try rows(writer) == planted)
        #expect(try runner.migrate(in: writer, options: options).steps.count == 2)
        #expect(try rows(writer) == planted)
        #expect(
            try runner.rollbackMigrations(in: writer, steps: 2, options: options).steps.count == 2
        )
        #expect(try rows(writer) == planted)

        // Foreign keys are on again, and the children still belong to their parents.
        #expect(try writer.number("PRAGMA foreign_keys") == 1)
        #expect(throws: DatabaseError.self) {
            try writer.write { try $0.execute(sql: "INSERT INTO tag (itemId) VALUES (999)") }
        }
        try writer.write { try $0.execute(sql: "DELETE FROM item WHERE id = 1") }
        #expect(try rows(writer).count == 98)
    }

    @Test(arguments: [MigrationTransaction.perStep, .allOrNothing])
    func rebuildThatLosesAParentIsUndone(_ transaction: MigrationTransaction) throws {
        let writer = try store.open()
        let losing = step(
            "0004_losing",
            Self.rebuild("name TEXT").replacing("FROM item", with: "FROM item WHERE id > 1")
        )
        let runner = try GRDBMigrationRunner(steps: itemSteps() + [losing])
        try runner.migrate(in: writer, upTo: "0003_tag_index")
        try plant(writer)
        let before = try Everything(of: writer)
        let error = #expect(throws: (any Error).self) {
            try runner.migrate(in: writer, options: .init(transaction: transaction))
        }
        #expect(
            error as? GRDBMigrationVerificationError == .foreignKeyViolations(count: 2)
                || (error as? DatabaseError)?.extendedResultCode == .SQLITE_CONSTRAINT_FOREIGNKEY
        )
        #expect(try Everything(of: writer) == before)
    }
}
