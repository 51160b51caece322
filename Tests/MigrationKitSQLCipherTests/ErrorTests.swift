import Foundation
import GRDB
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct ErrorTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// What a use of the database throws, for the caller of a migration.
    private func translate(
        _ options: EncryptedDatabase.Options = .init(),
        _ use: (Database) throws -> Void
    ) throws -> EncryptedDatabaseError? {
        let queue = try EncryptedDatabase.open(folder.database, key: key.key, options: options)
        let error = #expect(throws: DatabaseError.self) { try queue.writeWithoutTransaction(use) }
        return try EncryptedDatabaseError(#require(error), path: "notes.db")
    }

    @Test func aFullDatabaseIsADiskFull() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let error = try translate { db in
            try db.execute(sql: "PRAGMA max_page_count = 10")
            try db.execute(sql: Fixtures.fill(pages: 100))
        }
        #expect(error == .diskFull(path: "notes.db"))
    }

    @Test func aDamagedPageThatIsMetLaterIsDamage() throws {
        _ = try SQLCipherShell.run(folder.database, key: key.spelling, Fixtures.fill(pages: 20))
        let pages = try folder.databaseData().count / 4096
        for page in 3...pages { try folder.damage(at: (page - 1) * 4096 + 50) }
        let error = try translate { db in
            _ = try Int.fetchOne(db, sql: "SELECT sum(length(hex(a))) FROM filler")
        }
        #expect(error == .damaged(path: "notes.db", pages: []))
    }

    @Test func aLockThatIsMetLaterIsLocked() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let other = try EncryptedDatabase.open(folder.database, key: key.key)
        let error = try translate(.init(busyTimeout: 0)) { db in
            try other.inTransaction(.immediate) { _ in
                try db.execute(sql: "DELETE FROM t")
                return .rollback
            }
        }
        #expect(error == .locked(path: "notes.db"))
    }

    @Test func aMistakeInTheSQLIsNoErrorOfTheFile() throws {
        try Fixtures.encrypted(folder.database, key: key)
        #expect(try translate { try $0.execute(sql: "NOT SQL") } == nil)
        #expect(try translate { try $0.execute(sql: "SELECT * FROM missing") } == nil)
        let constraint = try translate { db in
            try db.execute(sql: "CREATE TABLE u(a CHECK (a > 0)); INSERT INTO u VALUES (0)")
        }
        #expect(constraint == nil)
    }

    @Test func everyErrorSaysWhatHappenedInOneLineAndWhatToDo() throws {
        let path = "notes.db"
        let errors: [EncryptedDatabaseError] = [
            .noSuchFile(path: path), .empty(path: path), .isDirectory(path: path),
            .notADatabase(path: path), .plaintext(path: path), .encrypted(path: path),
            .notAFile(path: path, kind: "a named pipe"), .rawKeyAsPassphrase(path: path),
            .passphraseAsRawKey(path: path),
            .otherSettings(path: path, cipher: .current),
            .multipleCiphers(path: path, ciphers: "AEGIS", isKeyRight: true),
            .wrongKey(path: path), .olderFormat(path: path, cipherCompatibility: 3),
            .damaged(path: path, pages: []), .damaged(path: path, pages: [7]),
            .damaged(path: path, pages: [7, 8]), .damaged(path: path, pages: Array(1...100)),
            .permissionDenied(path: path), .readOnly(path: path), .readOnlyFolder(path: path),
            .locked(path: path), .needsRecovery(path: path), .newerFormat(path: path),
            .cannotCreate(path: path, reason: "its folder does not exist"), .noSQLCipher,
            .diskFull(path: path), .inputOutput(path: path, detail: "disk I/O error"),
        ]
        let descriptions = errors.compactMap(\.errorDescription)
        #expect(Set(descriptions).count == errors.count)
        for error in errors {
            let description = try #require(error.errorDescription)
            #expect(!description.contains("\n"))
            #expect(description.first?.isLowercase == true)
            #expect(description.contains(path) || error == .noSQLCipher)
            #expect(try !#require(error.recoverySuggestion).isEmpty)
            #expect(error.localizedDescription == description)
        }
    }
}
