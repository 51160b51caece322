import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQLCipher
import Synchronization
import TestSupport
import Testing

/// Copies of encrypted stores.
@Suite struct BackupTests {
    private let store: EncryptedStore

    init() throws {
        store = try EncryptedStore()
    }

    private var copyPath: String { store.folder.path("copy.db") }

    @Test(arguments: WriterKind.allCases)
    func copyHasTheSameContentKeyAndNothingBesideIt(_ kind: WriterKind) throws {
        let writer = try kind.open(store)
        try GRDBMigrationRunner(steps: itemSteps()).migrate(in: writer)
        try writer.write { try $0.execute(sql: "INSERT INTO item VALUES (1, 'zettel')") }
        try MigrationBackup.copy(writer, to: copyPath)

        #expect(store.folder.mode("copy.db") == 0o600)
        #expect(try store.folder.names.filter { $0.hasPrefix("copy") } == ["copy.db"])
        let bytes = try store.folder.data("copy.db")
        #expect(!bytes.starts(with: "SQLite format 3".utf8))
        #expect(bytes.firstRange(of: Data("zettel".utf8)) == nil)

        let copy = try EncryptedDatabase.open(copyPath, key: store.key)
        #expect(try Everything(of: copy) == Everything(of: writer))
        let other = try EncryptedStore().key
        #expect(throws: EncryptedDatabaseError.self) {
            try EncryptedDatabase.open(copyPath, key: other)
        }
        // The copy is a database like any other.
        #expect(
            try GRDBMigrationRunner(steps: itemSteps()).rollbackLastMigration(in: copy).verified
        )
    }

    @Test func passphraseOpensTheCopyAsWell() throws {
        let key = try DatabaseKey.passphrase(Secret(utf8: UUID().uuidString))
        let path = store.folder.path("words.db")
        let writer = try EncryptedDatabase.open(path, key: key, options: .init(createsFile: true))
        try writer.write { try $0.execute(sql: "CREATE TABLE a (id)") }
        try MigrationBackup.copy(writer, to: copyPath)
        #expect(try EncryptedDatabase.open(copyPath, key: key).tables() == ["a"])
    }

    @Test(arguments: WriterKind.allCases)
    func copyUnderAConcurrentWriterHoldsOneState(_ kind: WriterKind) throws {
        let writer = try kind.open(store)
        try writer.write { db in
            try db.execute(sql: "CREATE TABLE a (n, text); CREATE TABLE b (n, text)")
            for number in 1...200 { try Self.insert(number, db) }
        }
        // Another connection, as another process has one.
        let neighbour = try kind.open(store)
        let writing = Writing()
        Thread.detachNewThread {
            while !writing.isDone.load(ordering: .relaxed) {
                let number = writing.count.load(ordering: .relaxed) + 1
                do {
                    try neighbour.write { try Self.insert(number, $0) }
                    writing.count.store(number, ordering: .relaxed)
                } catch {
                    Issue.record(error)
                    writing.isDone.store(true, ordering: .relaxed)
                }
                writing.progress.signal()
            }
            writing.end.signal()
        }
        defer {
            writing.isDone.store(true, ordering: .relaxed)
            writing.end.wait()
        }
        for round in 1...5 {
            writing.progress.wait()
            let before = writing.count.load(ordering: .relaxed)
            let path = store.folder.path("copy\(round).db")
            try MigrationBackup.copy(writer, to: path)
            let copy = try EncryptedDatabase.open(path, key: store.key)
            let count = try #require(try copy.number("SELECT count(*) FROM a"))
            #expect(count >= before)
            #expect(try copy.number("SELECT count(*) FROM b") == count)
            #expect(try copy.number("SELECT max(n) FROM b") == count)
            #expect(try copy.strings("PRAGMA integrity_check") == ["ok"])
        }
        #expect(writing.count.load(ordering: .relaxed) > 200)
    }

    /// How far the concurrent writer is.
    private final class Writing: Sendable {
        let isDone = Atomic(false)
        let count = Atomic(200)
        let progress = DispatchSemaphore(value: 0)
        let end = DispatchSemaphore(value: 0)
    }

    private static func insert(_ number: Int, _ db: Database) throws {
        try db.execute(sql: "INSERT INTO a VALUES (?, hex(randomblob(300)))", arguments: [number])
        try db.execute(sql: "INSERT INTO b VALUES (?, hex(randomblob(300)))", arguments: [number])
    }

    @Test func whatStandsThereIsNeverReplaced() throws {
        let writer = try store.open()
        try store.folder.write("copy.db", "somebody's".utf8)
        symlink(store.folder.path("elsewhere.db"), store.folder.path("link.db"))
        for name in ["copy.db", "store.db", "link.db"] {
            let path = store.folder.path(name)
            #expect(throws: MigrationBackupError.cannotCreate(path: path, code: EEXIST)) {
                try MigrationBackup.copy(writer, to: path)
            }
        }
        #expect(try store.folder.data("copy.db") == Data("somebody's".utf8))
        #expect(!(try store.folder.names.contains("elsewhere.db")))
    }

    @Test func missingFolderIsExplained() throws {
        let writer = try store.open()
        let path = store.folder.path("nowhere/copy.db")
        let error = #expect(throws: MigrationBackupError.self) {
            try MigrationBackup.copy(writer, to: path)
        }
        #expect(error == .cannotCreate(path: path, code: ENOENT))
        #expect(
            error?.errorDescription == "the backup \(path) can't be made: no such file or directory"
        )
    }

    @Test func copyThatFailsLeavesNoFile() throws {
        // Another process has the database for itself.
        let writer = try store.open(busyTimeout: 0.05)
        try writer.write { try $0.execute(sql: "CREATE TABLE a (id)") }
        let neighbour = try store.open()
        try neighbour.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            #expect(
                throws: MigrationBackupError.cannotCopy(path: copyPath, resultCode: .SQLITE_BUSY)
            ) {
                try MigrationBackup.copy(writer, to: copyPath)
            }
            try db.execute(sql: "ROLLBACK")
        }
        #expect(!(try store.folder.names.contains("copy.db")))
    }

    /// The pages of a large value, the last one above all, are none in which a check of the
    /// structure would find anything.
    @Test(arguments: [2, 150, 300])
    func damagedPageIsNotCopied(_ page: Int) throws {
        let writer = try store.open()
        try writer.write { db in
            try db.execute(
                sql: "CREATE TABLE a (b); INSERT INTO a VALUES (zeroblob(4012 * 298 + 100))"
            )
            #expect(try Int.fetchOne(db, sql: "PRAGMA page_count") == 300)
        }
        try writer.close()
        var bytes = try store.folder.data("store.db")
        bytes[page * 4096 - 2000] ^= 1
        try store.folder.write("store.db", bytes)

        let damaged = try store.open()
        #expect(throws: MigrationBackupError.self) {
            try MigrationBackup.copy(damaged, to: copyPath)
        }
        #expect(!(try store.folder.names.contains("copy.db")))
    }

    @Test func uncommittedChangesAreNotCopied() throws {
        let writer = try store.openPool()
        try writer.write { try $0.execute(sql: "CREATE TABLE a (id)") }
        let neighbour = try store.openPool()
        try neighbour.writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE; INSERT INTO a VALUES (1)")
            try MigrationBackup.copy(writer, to: copyPath)
            try db.execute(sql: "COMMIT")
        }
        let copy = try EncryptedDatabase.open(copyPath, key: store.key)
        #expect(try copy.number("SELECT count(*) FROM a") == 0)
    }
}
