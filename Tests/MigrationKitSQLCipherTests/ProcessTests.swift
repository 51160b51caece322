import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What concerns a whole process, or several.
@Suite struct ProcessTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    // MARK: - Standard error

    @Test func nothingIsToldToStandardErrorOrOutput() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let result = try TestInOwnProcess.run(
            "childFailsToOpen",
            arguments: [folder.database, key.fragments[0]]
        )
        #expect(result.hasPassed("childFailsToOpen"), "\(result)")
        for text in [result.stdout, result.stderr] {
            #expect(!text.contains("CORE"), "\(text)")
            #expect(!text.contains("hmac"))
            #expect(!text.contains(key.fragments[0]))
        }
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childFailsToOpen() throws {
        let arguments = try #require(TestInOwnProcess.arguments)
        let right = try key(hexadecimal: arguments[1])
        let configuration = try EncryptedDatabase.configuration(key: .generate())
        // Directly, so that nothing has been set in this process before.
        #expect(throws: DatabaseError.self) {
            try DatabaseQueue(path: arguments[0], configuration: configuration)
        }
        #expect(throws: EncryptedDatabaseError.wrongKey(path: arguments[0])) {
            try EncryptedDatabase.open(arguments[0], key: .generate())
        }
        try EncryptedDatabase.open(arguments[0], key: right).close()
    }

    // MARK: - Several processes on one new file

    @Test func severalProcessesCreateOneDatabase() async throws {
        let passphrase = UUID().uuidString
        let path = folder.database
        let results = try await withThrowingTaskGroup(of: ProcessResult.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    try TestInOwnProcess.run("childCreates", arguments: [path, passphrase])
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for result in results {
            #expect(result.hasPassed("childCreates"), "\(result)")
        }
        let key = try DatabaseKey.passphrase(Secret(utf8: passphrase))
        let queue = try EncryptedDatabase.open(path, key: key)
        let count = try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
        #expect(count == 120)
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childCreates() throws {
        let arguments = try #require(TestInOwnProcess.arguments)
        let key = try DatabaseKey.passphrase(Secret(utf8: arguments[1]))
        let options = EncryptedDatabase.Options(createsFile: true, busyTimeout: 60)
        for _ in 0..<20 {
            let queue = try EncryptedDatabase.open(arguments[0], key: key, options: options)
            try queue.inTransaction(.immediate) { db in
                try db.execute(sql: "CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES (1)")
                return .commit
            }
            try queue.close()
        }
    }

    // MARK: - Locks

    @Test func aLockOfAnotherProcessIsToldAfterTheTimeout() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let before = try folder.databaseData()
        let lock = try LockHolder(folder.database, key: key.spelling)
        for isReadOnly in [false, true] {
            let options = EncryptedDatabase.Options(isReadOnly: isReadOnly, busyTimeout: 0.1)
            #expect(throws: EncryptedDatabaseError.locked(path: folder.database)) {
                try EncryptedDatabase.open(folder.database, key: key.key, options: options)
            }
            #expect(throws: EncryptedDatabaseError.locked(path: folder.database)) {
                try EncryptedDatabase.openPool(folder.database, key: key.key, options: options)
            }
        }
        try lock.release()
        #expect(try folder.databaseData() == before)
        try EncryptedDatabase.open(folder.database, key: key.key).close()
    }

    @Test func aLockThatIsReleasedInTimeIsWaitedFor() async throws {
        try Fixtures.encrypted(folder.database, key: key)
        let lock = try LockHolder(folder.database, key: key.spelling)
        let (path, key) = (folder.database, key.key)
        async let queue = EncryptedDatabase.open(path, key: key, options: .init(busyTimeout: 60))
        try lock.release()
        let value = try await queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") }
        #expect(value == "zettel")
    }

    @Test func aPlaintextDatabaseIsToldAsLockedToo() throws {
        try Fixtures.plaintext(folder.database)
        let lock = try LockHolder(folder.database, key: nil)
        #expect(throws: EncryptedDatabaseError.locked(path: folder.database)) {
            try EncryptedDatabase.openPlaintext(folder.database, options: .init(busyTimeout: 0.1))
        }
        try lock.release()
    }

    /// Closing a descriptor of a file drops all locks that the process has on it.
    @Test func anotherOpenInTheProcessDropsNoLock() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        try queue.inDatabase { db in
            try db.execute(sql: "BEGIN EXCLUSIVE")
            for key in [key.key, try DatabaseKey.generate()] {
                #expect(throws: EncryptedDatabaseError.self) {
                    try EncryptedDatabase.open(
                        folder.database,
                        key: key,
                        options: .init(busyTimeout: 0)
                    )
                }
            }
            #expect(throws: EncryptedDatabaseError.self) {
                try EncryptedDatabase.openPlaintext(folder.database)
            }
            let error = #expect(throws: ProcessFailure.self) {
                try SQLCipherShell.run(
                    folder.database,
                    key: key.spelling,
                    "SELECT count(*) FROM t;"
                )
            }
            #expect(try #require(error).result.stderr.contains("locked"))
            try db.execute(sql: "COMMIT")
        }
        #expect(
            try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT a FROM t;")
                == "zettel"
        )
    }

    // MARK: - Disk

    @Test func aFileThatCanNotGrowIsAnInputOutputError() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let result = try TestInOwnProcess.run(
            "childWritesTooMuch",
            arguments: [folder.database, key.fragments[0]],
            shell: "trap '' XFSZ; ulimit -f 64"
        )
        #expect(result.hasPassed("childWritesTooMuch"), "\(result)")
        // What was begun was undone.
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        #expect(try queue.read { try !$0.tableExists("filler") })
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childWritesTooMuch() throws {
        let arguments = try #require(TestInOwnProcess.arguments)
        let queue = try EncryptedDatabase.open(
            arguments[0],
            key: try key(hexadecimal: arguments[1])
        )
        let error = #expect(throws: DatabaseError.self) {
            try queue.write { try $0.execute(sql: Fixtures.fill(pages: 100)) }
        }
        let translated = try EncryptedDatabaseError(#require(error), path: "notes.db")
        guard case .inputOutput("notes.db", let detail) = translated else {
            Issue.record("\(String(describing: translated))")
            return
        }
        #expect(detail.contains("778"))
    }

    private func key(hexadecimal: String) throws -> DatabaseKey {
        let bytes = stride(from: 0, to: 64, by: 2).compactMap { offset in
            UInt8(hexadecimal.dropFirst(offset).prefix(2), radix: 16)
        }
        return try .rawKey(bytes: bytes.withUnsafeBytes { Secret(copying: $0) })
    }
}
