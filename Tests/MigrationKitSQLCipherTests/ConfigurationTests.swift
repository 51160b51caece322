import Dispatch
import Foundation
import GRDB
import MigrationKitCommon
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What GRDB's `Configuration` offers, on connections that are opened here.
@Suite struct ConfigurationTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
        try Fixtures.encrypted(folder.database, key: key)
    }

    private func open(
        _ kind: Kind,
        _ configure: (inout EncryptedDatabase.Options) -> Void
    ) throws -> any DatabaseWriter {
        var options = EncryptedDatabase.Options()
        configure(&options)
        return switch kind {
        case .queue: try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        case .pool: try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
        }
    }

    enum Kind: CaseIterable { case queue, pool }

    private struct Clock: TransactionClock {
        func now(_ db: Database) -> Date { Date(timeIntervalSince1970: 1) }
    }

    private struct Keys: DatabaseSchemaSource {
        func columnsForPrimaryKey(_ db: Database, inView view: DatabaseObjectID) -> [String]? {
            ["a"]
        }
    }

    @Test(arguments: Kind.allCases)
    func propertiesOfTheConfigurationReachEachConnection(_ kind: Kind) throws {
        let queue = DispatchQueue(label: "target", attributes: .concurrent)
        let isTarget = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: isTarget, value: true)
        let prepared = Locked<[Bool]>([])
        let writer = try open(kind) { options in
            options.publicStatementArguments = true
            options.foreignKeysEnabled = false
            options.transactionClock = Clock()
            options.schemaSource = Keys()
            options.persistentReadOnlyConnections = true
            options.qos = .background
            options.targetQueue = queue
            options.label = "notes"
            options.maximumReaderCount = 2
            options.prepareDatabase = { db in
                // After the key: the file can be read.
                let value = try String.fetchOne(db, sql: "SELECT a FROM t")
                prepared.withLock { $0.append(value == "zettel") }
            }
        }
        try writer.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE VIEW v AS SELECT a FROM t")
            #expect(try db.primaryKey("v").columns == ["a"])
            #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == false)
            #expect(try db.transactionDate == Date(timeIntervalSince1970: 1))
            #expect(DispatchQueue.getSpecific(key: isTarget) == true)
            #expect(db.description.hasPrefix("notes"))
            let error = #expect(throws: DatabaseError.self) {
                try db.execute(sql: "INSERT INTO none VALUES (?)", arguments: ["seen"])
            }
            #expect(error?.message == "no such table: none")
        }
        let error = #expect(throws: DatabaseError.self) {
            try writer.write { db in
                try db.execute(sql: "CREATE TABLE u(a UNIQUE)")
                for _ in 0..<2 {
                    try db.execute(sql: "INSERT INTO u VALUES (?)", arguments: ["seen"])
                }
            }
        }
        #expect("\(try #require(error))".contains("[\"seen\"]"))
        try writer.read { (db: Database) throws in
            #expect(DispatchQueue.getSpecific(key: isTarget) == true)
            #expect(try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == false)
            #expect(try String.fetchOne(db, sql: "PRAGMA cipher_version") != nil)
        }
        #expect(writer.configuration.persistentReadOnlyConnections)
        #expect(writer.configuration.qos == .background)
        #expect(prepared.withLock { $0 } == Array(repeating: true, count: kind == .pool ? 2 : 1))
        try writer.close()
    }

    @Test func aNewFileIsEncryptedWhateverTheConfigurationSays() throws {
        let path = folder.path("new.db")
        var options = EncryptedDatabase.Options(createsFile: true)
        options.journalMode = .wal
        options.acceptsDoubleQuotedStringLiterals = true
        options.allowsUnsafeTransactions = true
        options.prepareDatabase = { try $0.execute(sql: "PRAGMA auto_vacuum = FULL") }
        let queue = try EncryptedDatabase.open(path, key: key.key, options: options)
        #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
        try queue.write {
            try $0.execute(sql: "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel')")
        }
        #expect(folder.mode("new.db-wal") == 0o600)
        #expect(try folder.data("new.db-wal").range(of: Data("zettel".utf8)) == nil)
        try queue.close()
        #expect(folder.mode("new.db") == 0o600)
        #expect(try !folder.data("new.db").starts(with: Data("SQLite format 3".utf8)))
    }

    @Test(arguments: Kind.allCases)
    func writingTheFirstPageAsksTheHostForNoTransactionDate(_ kind: Kind) throws {
        let path = folder.path("new.db")
        let dates = Locked(0)
        var options = EncryptedDatabase.Options(createsFile: true)
        options.transactionClock = .custom { _ in
            dates.withLock { $0 += 1 }
            return Date()
        }
        switch kind {
        case .queue:
            try EncryptedDatabase.open(path, key: key.key, options: options).close()
            #expect(dates.withLock { $0 } == 0)
        case .pool:
            try EncryptedDatabase.openPool(path, key: key.key, options: options).close()
            // GRDB's own, in which it sets up the write-ahead log.
            #expect(dates.withLock { $0 } == 1)
        }
    }

    @Test func whatOnlyReadsKeepsTheJournalMode() throws {
        var options = EncryptedDatabase.Options()
        options.journalMode = .wal
        options.purpose = .read
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        #expect(try queue.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "delete")
        try queue.close()
    }

    @Test func aBusyCallbackDecidesHowLongToWait() throws {
        let tries = Locked<[Int]>([])
        let writer = try open(.queue) { options in
            options.busyMode = .callback { count in
                tries.withLock { $0.append(count) }
                return count < 3
            }
        }
        let other = try open(.queue) { $0.allowsUnsafeTransactions = true }
        try other.unsafeReentrantWrite { try $0.execute(sql: "BEGIN EXCLUSIVE") }
        let error = #expect(throws: DatabaseError.self) {
            try writer.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        }
        #expect(error?.resultCode == .SQLITE_BUSY)
        #expect(tries.withLock { $0 } == [0, 1, 2, 3])
        try other.unsafeReentrantWrite { try $0.execute(sql: "COMMIT") }
    }

    @Test func suspendedDatabasesDontWrite() throws {
        let writer = try open(.queue) { $0.observesSuspensionNotifications = true }
        NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
        defer { NotificationCenter.default.post(name: Database.resumeNotification, object: nil) }
        let error = #expect(throws: DatabaseError.self) {
            try writer.write { try $0.execute(sql: "INSERT INTO t VALUES (1)") }
        }
        #expect(error?.resultCode == .SQLITE_ABORT)
    }

    @Test func theKeyIsInNoErrorThatShowsArguments() throws {
        var options = EncryptedDatabase.Options()
        options.publicStatementArguments = true
        let other = try TestKey.raw()
        let error = #expect(throws: (any Error).self) {
            try EncryptedDatabase.open(folder.database, key: other.key, options: options)
        }
        let text = "\(try #require(error))"
        #expect(!other.fragments.contains { text.contains($0) })
    }
}
