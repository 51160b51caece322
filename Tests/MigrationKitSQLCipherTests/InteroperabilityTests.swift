import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// The same file in our code, in the `sqlcipher` shell and in Python's sqlcipher3.
@Suite struct InteroperabilityTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: try TestKey.each())
    func othersOpenWhatWeMade(key: TestKey) throws {
        try Fixtures.encrypted(folder.database, key: key)
        #expect(
            try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT a FROM t;")
                == "zettel"
        )
        #expect(
            try Python.sqlcipher(folder.database, key: key.spelling, ["SELECT a FROM t"])
                == "zettel"
        )
    }

    @Test(arguments: try TestKey.each())
    func weOpenWhatTheShellMade(key: TestKey) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "CREATE TABLE t(a); INSERT INTO t VALUES ('zettel');"
        )
        try expectReadableAndWritable(key: key)
        #expect(
            try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT a FROM t;") == "ours"
        )
    }

    @Test(arguments: try TestKey.each())
    func weOpenWhatPythonMade(key: TestKey) throws {
        _ = try Python.sqlcipher(
            folder.database,
            key: key.spelling,
            ["CREATE TABLE t(a)", "INSERT INTO t VALUES ('zettel')"]
        )
        try expectReadableAndWritable(key: key)
        #expect(
            try Python.sqlcipher(folder.database, key: key.spelling, ["SELECT a FROM t"]) == "ours"
        )
    }

    @Test func theSaltOfANewFileIsRandom() throws {
        let key = try TestKey.passphrase()
        try Fixtures.encrypted(folder.path("1.db"), key: key)
        try Fixtures.encrypted(folder.path("2.db"), key: key)
        #expect(try folder.data("1.db").prefix(16) != folder.data("2.db").prefix(16))
    }

    @Test func bytesThatAreNoTextMakeAPassphrase() throws {
        let bytes: [UInt8] = [0xff, 0, 0xfe, 0x80, 0x27, 0x22]
        let key = try DatabaseKey.passphrase(bytes.withUnsafeBytes { Secret(copying: $0) })
        try EncryptedDatabase.open(folder.database, key: key, options: .init(createsFile: true))
            .close()
        try EncryptedDatabase.open(folder.database, key: key).close()
        let cut = try DatabaseKey.passphrase(
            bytes.prefix(1).withUnsafeBytes { Secret(copying: $0) }
        )
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try EncryptedDatabase.open(folder.database, key: cut)
        }
    }

    private func expectReadableAndWritable(key: TestKey) throws {
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.write { try $0.execute(sql: "UPDATE t SET a = 'ours'") }
        try queue.close()
    }
}
