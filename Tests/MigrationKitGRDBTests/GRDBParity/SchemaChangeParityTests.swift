import Dispatch
import Foundation
import GRDB
import GRDBSQLite
import MigrationKit
import MigrationKitSQLCipher
import MigrationKitSchema
import TestSupport
import Testing

/// Steps that were changed after they were applied. See the table in `MigratorParityTests.swift`.
@Suite struct SchemaChangeParityTests {
    let store: EncryptedStore
    let before = [step("1", "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT)")]
    let after = [
        step("1", "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT, score INTEGER)"),
        step("2", "INSERT INTO player (name, score) VALUES ('Arthur', 1000)"),
    ]

    init() throws {
        store = try EncryptedStore()
    }

    @Test func schemaChangesAreFoundOnAReadOnlyConnection() throws {
        let writer = try store.open()
        #expect(try !GRDBMigrationRunner(steps: before).hasSchemaChanges(in: writer))
        try GRDBMigrationRunner(steps: before).migrate(in: writer)
        #expect(try !GRDBMigrationRunner(steps: before).hasSchemaChanges(in: writer))
        try writer.close()

        let reader = try store.open { $0.readonly = true }
        #expect(try !GRDBMigrationRunner(steps: before).hasSchemaChanges(in: reader))
        #expect(try GRDBMigrationRunner(steps: after).hasSchemaChanges(in: reader))
    }

    /// GRDB's own comparison works with such a host: <https://github.com/groue/GRDB.swift/issues/931>
    @Test(arguments: WriterKind.allCases)
    func preparationThatNeedsAFileGetsAnEncryptedOne(_ kind: WriterKind) throws {
        let files = Recorder<String>()
        let keepLog: @Sendable (Database) throws -> Void = { db in
            var flag: CInt = 1
            let code = withUnsafeMutablePointer(to: &flag) {
                sqlite3_file_control(db.sqliteConnection, nil, SQLITE_FCNTL_PERSIST_WAL, $0)
            }
            guard code == SQLITE_OK else {
                throw DatabaseError(resultCode: ResultCode(rawValue: code))
            }
            let name = try #require(sqlite3_db_filename(db.sqliteConnection, "main"))
            let path = String(cString: name)
            // Through a descriptor, which means another folder as soon as it is closed.
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            let named = try? FileManager.default.destinationOfSymbolicLink(atPath: folder)
            files.append(named.map { "\($0)/notes.db" } ?? path)
        }
        let options = EncryptedDatabase.Options(createsFile: true, prepareDatabase: keepLog)
        let writer: any DatabaseWriter =
            switch kind {
            case .queue: try EncryptedDatabase.open(store.path, key: store.key, options: options)
            case .pool: try EncryptedDatabase.openPool(store.path, key: store.key, options: options)
            }
        let heads = Recorder<Data>()
        let secret = step("1", "CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT)")
        let look = MigrationStep<Database>(identifier: "2") { db in
            let name = try #require(sqlite3_db_filename(db.sqliteConnection, "main"))
            let path = String(cString: name)
            guard path != store.path else { return }
            heads.append(try Data(contentsOf: URL(fileURLWithPath: path)))
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
            #expect(mode as? Int == 0o600)
        }
        let runner = try GRDBMigrationRunner(steps: [secret, look])
        try runner.migrate(in: writer)
        #expect(try !runner.hasSchemaChanges(in: writer))
        #expect(try runner.drift(in: writer).changes.isEmpty)
        #expect(try GRDBMigrationRunner(steps: [after[0], look]).hasSchemaChanges(in: writer))

        #expect(heads.values.count == 3)
        #expect(heads.values.allSatisfy { !$0.starts(with: Data("SQLite format 3".utf8)) })
        let others = Set(files.values).subtracting([store.path])
        #expect(others.count == 3)
        // Each was in a folder of its own, which is gone.
        for path in others {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            #expect(!FileManager.default.fileExists(atPath: folder.path))
        }
        #if DEBUG || ERASABLE
            #expect(
                try GRDBMigrationRunner(steps: [after[0], look])
                    .eraseDatabaseOnSchemaChange(in: writer)
            )
        #endif
    }

    @Test func failureOnTheTemporaryDatabaseSaysWhichOneItIs() throws {
        let path = store.path
        let writer = try EncryptedDatabase.open(
            store.path,
            key: store.key,
            options: .init(createsFile: true) { db in
                let name = try #require(sqlite3_db_filename(db.sqliteConnection, "main"))
                guard String(cString: name) == path else {
                    throw DatabaseError(message: "unknown context")
                }
            }
        )
        let runner = try GRDBMigrationRunner(steps: before)
        try runner.migrate(in: writer)
        let error = try #require(
            #expect(throws: GRDBMigrationReplayError.self) {
                try runner.hasSchemaChanges(in: writer)
            }
        )
        let folder = FileManager.default.temporaryDirectory.path
        #expect(
            error.localizedDescription == """
                a temporary database in \(folder), on which the steps run again, can't be opened: \
                unknown context
                """
        )
    }

    #if DEBUG || ERASABLE
        @Test(arguments: [true, false])
        func targetQueueIsNoDeadlock(_ forWritesOnly: Bool) throws {
            let target = DispatchQueue(label: "target")
            let writer = try store.open {
                if forWritesOnly { $0.writeTargetQueue = target } else { $0.targetQueue = target }
            }
            for count in 1...2 {
                let runner = try GRDBMigrationRunner(
                    steps: (1...count).map { step("\($0)", "CREATE TABLE t\($0) (id)") }
                )
                #expect(try !runner.hasSchemaChanges(in: writer))
                #expect(try !runner.eraseDatabaseOnSchemaChange(in: writer))
                #expect(try runner.migrate(in: writer).steps.count == 1)
            }
        }

        @Test(arguments: WriterKind.allCases)
        func changedStepErasesTheStoreWhenAsked(_ kind: WriterKind) throws {
            let writer = try kind.open(store)
            try GRDBMigrationRunner(steps: before).migrate(in: writer)
            let runner = try GRDBMigrationRunner(steps: after)
            let error = #expect(throws: DatabaseError.self) { try runner.migrate(in: writer) }
            #expect(
                error?.message == "table player has no column named score (in the migration 2)"
            )
            #expect(try runner.appliedMigrationIdentifiers(in: writer) == ["1"])

            #expect(try runner.eraseDatabaseOnSchemaChange(in: writer))
            try runner.migrate(in: writer)
            #expect(try !runner.hasSchemaChanges(in: writer))
            #expect(try runner.appliedMigrationIdentifiers(in: writer) == ["1", "2"])
            #expect(try !runner.eraseDatabaseOnSchemaChange(in: writer))
            #expect(try writer.number("SELECT score FROM player") == 1000)
        }

        @Test func stepsFindTheFunctionsOfTheConfiguration() throws {
            let writer = try store.open { configuration in
                configuration.prepareDatabase { db in
                    db.add(function: DatabaseFunction("who", argumentCount: 0) { _ in "Arthur" })
                }
            }
            let named = step("1b", "INSERT INTO player (name) VALUES (who())")
            try GRDBMigrationRunner(steps: before + [named]).migrate(in: writer)
            let runner = try GRDBMigrationRunner(steps: [after[0], named])
            #expect(try runner.eraseDatabaseOnSchemaChange(in: writer))
            try runner.migrate(in: writer)
            #expect(try !runner.hasSchemaChanges(in: writer))
            #expect(try writer.strings("SELECT name FROM player") == ["Arthur"])
        }

        @Test func addedStepErasesNothing() throws {
            let writer = try store.open()
            try GRDBMigrationRunner(steps: before).migrate(in: writer)
            try writer.write { try $0.execute(sql: "INSERT INTO player (name) VALUES ('Eva')") }
            let runner = try GRDBMigrationRunner(steps: before + [step("2", "CREATE TABLE t (id)")])
            #expect(try !runner.eraseDatabaseOnSchemaChange(in: writer))
            try runner.migrate(in: writer)
            #expect(try writer.strings("SELECT name FROM player") == ["Eva"])
            #expect(try writer.tables() == ["player", "t"])
        }

        @Test func statisticsEraseNothing() throws {
            let writer = try store.open()
            let runner = try GRDBMigrationRunner(steps: before)
            try runner.migrate(in: writer)
            try writer.write { db in
                try db.execute(sql: "INSERT INTO player (name) VALUES ('Eva'); ANALYZE")
                #expect(try db.tableExists("sqlite_stat1"))
            }
            #expect(try !runner.eraseDatabaseOnSchemaChange(in: writer))
            #expect(try writer.strings("SELECT name FROM player") == ["Eva"])
        }

        @Test func renamedStepErases() throws {
            let writer = try store.open()
            let sql = "CREATE TABLE t1 (id INTEGER PRIMARY KEY); INSERT INTO t1 VALUES"
            try GRDBMigrationRunner(steps: [step("1", "\(sql) (1)")]).migrate(in: writer)
            let runner = try GRDBMigrationRunner(steps: [step("2", "\(sql) (2)")])
            #expect(try runner.hasSchemaChanges(in: writer))
            #expect(try runner.eraseDatabaseOnSchemaChange(in: writer))
            try runner.migrate(in: writer)
            #expect(try !runner.hasSchemaChanges(in: writer))
            #expect(try writer.number("SELECT id FROM t1") == 2)
        }

        @Test func tablesOfTheBootstrapAreNoChange() throws {
            let writer = try store.open()
            let runner = try GRDBMigrationRunner(
                steps: [step("1", "ALTER TABLE base ADD COLUMN name TEXT")],
                integration: .init(bootstrapSchema: { db in
                    guard try !db.tableExists("base") else { return false }
                    try db.execute(sql: "CREATE TABLE base (id INTEGER PRIMARY KEY)")
                    return true
                })
            )
            try runner.migrate(in: writer)
            #expect(try !runner.hasSchemaChanges(in: writer))
        }
    #endif

    @Test func storeCanBeErasedByHand() throws {
        let writer = try store.open()
        try GRDBMigrationRunner(steps: before).migrate(in: writer)
        let runner = try GRDBMigrationRunner(steps: after)
        if try runner.hasSchemaChanges(in: writer) {
            // GRDB's own `erase()` doesn't work on an encrypted store.
            try writer.write { db in
                try db.execute(sql: "DROP TABLE player; DROP TABLE grdb_migrations")
            }
        }
        try runner.migrate(in: writer)
        #expect(try !runner.hasSchemaChanges(in: writer))
        #expect(try runner.appliedMigrationIdentifiers(in: writer) == ["1", "2"])
    }
}
