import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Every reason for which a file can't be opened, told by name, and the folder left as it was.
@Suite struct FailureTests {
    private let folder: TemporaryFolder
    private let key: TestKey
    private var path: String { folder.database }

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// Opens in every way that there is and expects the same answer and an unchanged folder.
    private func expect(
        _ expected: EncryptedDatabaseError,
        key: TestKey? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let key = (key ?? self.key).key
        let before = try folder.snapshot()
        for isReadOnly in [false, true] {
            for createsFile in [false, true] {
                let options = EncryptedDatabase.Options(
                    createsFile: createsFile,
                    isReadOnly: isReadOnly
                )
                #expect(throws: expected, sourceLocation: sourceLocation) {
                    try EncryptedDatabase.open(path, key: key, options: options)
                }
                #expect(throws: expected, sourceLocation: sourceLocation) {
                    try EncryptedDatabase.openPool(path, key: key, options: options)
                }
            }
        }
        #expect(try folder.snapshot() == before, sourceLocation: sourceLocation)
    }

    @Test func wrongKeyIsToldFromTheOthers() throws {
        try Fixtures.encrypted(path, key: key)
        try expect(.wrongKey(path: path), key: .raw())
        try expect(.wrongKey(path: path), key: .passphrase())
    }

    @Test func aWrongPassphraseForAPassphraseIsToldToo() throws {
        try Fixtures.encrypted(path, key: .passphrase())
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: TestKey.passphrase().key)
        }
        #expect(try folder.snapshot() == before)
    }

    @Test func aPlaintextFileIsToldFromAWrongKey() throws {
        try Fixtures.plaintext(path)
        try expect(.plaintext(path: path))
    }

    @Test func anEncryptedFileIsNotOpenedAsPlaintext() throws {
        try Fixtures.encrypted(path, key: key)
        let before = try folder.snapshot()
        for isReadOnly in [false, true] {
            #expect(throws: EncryptedDatabaseError.encrypted(path: path)) {
                try EncryptedDatabase.openPlaintext(path, options: .init(isReadOnly: isReadOnly))
            }
        }
        #expect(try folder.snapshot() == before)
    }

    @Test func aFolderIsNoDatabase() throws {
        try folder.makeFolder("notes.db")
        try expect(.isDirectory(path: path))
        #expect(throws: EncryptedDatabaseError.isDirectory(path: path)) {
            try EncryptedDatabase.openPlaintext(path)
        }
    }

    @Test func aPipeIsNoDatabaseAndIsNotWaitedFor() throws {
        #expect(mkfifo(path, 0o600) == 0)
        let before = try folder.names
        #expect(throws: EncryptedDatabaseError.notAFile(path: path, kind: "a named pipe")) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(try folder.names == before)
    }

    @Test func aDeviceIsNoDatabase() throws {
        #expect(throws: EncryptedDatabaseError.notAFile(path: "/dev/null", kind: "a device")) {
            try EncryptedDatabase.open("/dev/null", key: key.key)
        }
    }

    @Test(arguments: [64, 96])
    func theDigitsOfARawKeyAsAPassphraseAreToldFromAWrongKey(count: Int) throws {
        let digits = (0..<count).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
        _ = try SQLCipherShell.run(path, key: "x'\(digits)'", "CREATE TABLE t (a);")
        let passphrase = try DatabaseKey.passphrase(Secret(utf8: digits))
        #expect(throws: EncryptedDatabaseError.rawKeyAsPassphrase(path: path)) {
            try EncryptedDatabase.open(path, key: passphrase)
        }
        let other = try DatabaseKey.passphrase(Secret(utf8: String(digits.reversed())))
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: other)
        }
    }

    @Test(arguments: [1, 15, 511, 5000, 100_001])
    func randomBytesOfAnImpossibleSizeAreNoDatabase(count: Int) throws {
        try folder.write("notes.db", Data((0..<count).map { _ in UInt8.random(in: .min ... .max) }))
        try expect(.notADatabase(path: path))
    }

    @Test(arguments: [512, 4096, 65536])
    func randomBytesOfAPossibleSizeCanNotBeToldFromAWrongKey(count: Int) throws {
        try folder.write("notes.db", Data((0..<count).map { _ in UInt8.random(in: .min ... .max) }))
        try expect(.wrongKey(path: path))
        let suggestion = EncryptedDatabaseError.wrongKey(path: path).recoverySuggestion
        #expect(try #require(suggestion).contains("not a SQLCipher database"))
    }

    @Test(arguments: [3, 2, 1], try TestKey.each().dropLast())
    func anOlderFormatIsToldWithItsVersion(version: Int, key: TestKey) throws {
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            compatibility: version,
            "CREATE TABLE t(a);"
        )
        // 2 and 3 differ in how a passphrase becomes a key.
        let told = version == 2 && key.key.form == .rawKey ? 3 : version
        try expect(.olderFormat(path: path, cipherCompatibility: told), key: key)
        try expect(.wrongKey(path: path), key: .raw())
    }

    @Test(arguments: try TestKey.each())
    func aDamagedFirstPageIsToldFromAWrongKey(key: TestKey) throws {
        try Fixtures.encrypted(path, key: key)
        try folder.damage(at: 2000)
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: [1])) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: TestKey.raw().key)
        }
        #expect(try folder.snapshot() == before)
    }

    @Test func aDamagedSaltCanNotBeToldFromAWrongPassphrase() throws {
        let key = try TestKey.passphrase()
        try Fixtures.encrypted(path, key: key)
        try folder.damage(at: 3)
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
    }

    @Test func aDamagedPageOfTheSchemaIsNamed() throws {
        let tables = (1...200).map { "CREATE TABLE t\($0)(a, b, c);" }.joined()
        _ = try SQLCipherShell.run(path, key: key.spelling, tables)
        for page in 2...(try folder.databaseData().count / 4096) {
            try folder.damage(at: (page - 1) * 4096 + 500)
        }
        let error = #expect(throws: EncryptedDatabaseError.self) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        guard case .damaged(path, let pages) = error else {
            Issue.record("not told as damage: \(String(describing: error))")
            return
        }
        #expect(pages.count == 100)
        #expect(pages.first == 2)
    }

    @Test(arguments: [4096, 8192, 9000])
    func aFileThatWasCutShortIsDamaged(size: Int) throws {
        _ = try SQLCipherShell.run(path, key: key.spelling, Fixtures.fill(pages: 10))
        try folder.write("notes.db", folder.databaseData().prefix(size))
        try expect(.damaged(path: path, pages: size == 9000 ? [3] : []))
    }

    @Test func aFileThatWasCutWithinItsFirstPageIsNoDatabase() throws {
        try Fixtures.encrypted(path, key: key)
        try folder.write("notes.db", folder.databaseData().prefix(3000))
        try expect(.notADatabase(path: path))
    }

    @Test(arguments: [(18, 3), (19, 3), (47, 5)])
    func aNewerFileFormatIsToldFromAWrongKey(offset: Int, value: UInt8) throws {
        try Fixtures.encrypted(path, key: key)
        try FirstPage.set(offset, to: value, in: path, key: key)
        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.newerFormat(path: path)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(try folder.snapshot() == before)

        let plain = folder.path("plain.db")
        try Fixtures.plaintext(plain)
        var data = try folder.data("plain.db")
        data[offset] = value
        try folder.write("plain.db", data)
        #expect(throws: EncryptedDatabaseError.newerFormat(path: plain)) {
            try EncryptedDatabase.openPlaintext(plain)
        }
    }

    /// Whoever has the key can write an authentic page with any content. SQLCipher decrypts pages of
    /// its own size into memory for pages of the size that the first one names.
    @Test(arguments: [(16, 2), (16, 32), (21, 65)])
    func aHeaderThatCanNotBeThisFilesIsDamage(offset: Int, value: UInt8) throws {
        try Fixtures.encrypted(path, key: key)
        try FirstPage.set(offset, to: value, in: path, key: key)
        try expect(.damaged(path: path, pages: [1]))
        #expect(throws: EncryptedDatabaseError.damaged(path: path, pages: [1])) {
            try DatabaseBackup(path, to: folder.path("copy.db"), form: .encrypted(key.key)).run()
        }
    }

    /// Such a header is in the log.
    @Test func aHeaderInTheLogThatCanNotBeThisFilesIsDamage() throws {
        try Fixtures.encrypted(path, key: key)
        let whole = try folder.databaseData()
        try FirstPage.set(16, to: 2, in: path, key: key)
        let page = Array(try folder.databaseData().prefix(4096))
        try folder.write("notes.db", whole)
        try folder.write(
            "notes.db-wal",
            Crash.log(ofFirstPage: page, pageCount: whole.count / 4096)
        )
        try expect(.damaged(path: path, pages: [1]))
    }

    /// SQLite would make the file as long as the journal says that it was. A power cut may have left
    /// numbers there whose product no integer holds.
    @Test(
        arguments: [(0x3f, nil, .state), (0xff, 0xff, .pageSize)]
            as [(
                UInt8, UInt8?, JournalMismatch
            )]
    )
    func aJournalOfALongerFileIsNotItsOwn(
        pageCount: UInt8,
        pageSize: UInt8?,
        mismatch: JournalMismatch
    ) throws {
        try Fixtures.encrypted(path, key: key)
        var journal = Crash.journalOfNothing
        journal.replaceSubrange(16..<20, with: [pageCount, 0xff, 0xff, 0xff])
        if let pageSize { journal.replaceSubrange(24..<28, with: [pageSize, 0xff, 0xff, 0xff]) }
        try folder.write("notes.db-journal", journal)
        let before = try folder.snapshot()
        #expect(
            throws: EncryptedDatabaseError.otherJournal(
                path: path,
                journal: path + "-journal",
                mismatch: mismatch,
                isSound: true
            )
        ) { try EncryptedDatabase.open(path, key: key.key) }
        #expect(try folder.snapshot() == before)
    }

    /// SQLite would delete the file that the journal names as its super-journal.
    @Test func aJournalThatNamesAnotherFileDeletesNothing() throws {
        try Fixtures.encrypted(path, key: key)
        let other = folder.path("other.txt")
        try folder.write("other.txt", "geblieben".utf8)
        var journal = Crash.journalOfNothing
        // The database has as many pages as before.
        journal[19] = UInt8(try folder.databaseData().count / 4096)
        journal += Crash.journalEnd(naming: Array(other.utf8))
        try folder.write("notes.db-journal", journal)
        let before = try folder.snapshot()
        let foreign = EncryptedDatabaseError.foreignJournal(path: path + "-journal")
        #expect(throws: foreign) { try EncryptedDatabase.open(path, key: key.key) }
        #expect(try folder.snapshot() == before)

        // A backup replaces the database whatever is in it, but its journal is looked at all the same.
        let backup = try TemporaryFolder()
        try Fixtures.encrypted(backup.path("backup.db"), key: key)
        #expect(throws: foreign) {
            try DatabaseRestore(path, from: backup.path("backup.db"), form: .encrypted(key.key))
                .run()
        }
        #expect(
            try folder.snapshot().entries.mapValues(\.content)
                == before.entries.mapValues(\.content)
        )
    }

    /// A journal of a transaction over several databases ends with the name of a file, and when that is gone,
    /// SQLite takes the transaction for a committed one. It is gone, too, if the folder was moved.
    @Test(arguments: [RollbackJournal.Joining.unfinished, .committed, .moved])
    func aJournalOfSeveralDatabasesIsUndoneUnlessItIsCommitted(
        _ joining: RollbackJournal.Joining
    ) throws {
        try Fixtures.encrypted(path, key: key)
        try Crash.leaveJournal(of: path, key: key)
        let base = "other.db-mj1234569AB"
        let name = joining == .moved ? "/nowhere/\(base)" : folder.path(base)
        if joining != .committed { try folder.write(base, "joined".utf8) }
        let journal = try folder.data("notes.db-journal")
        try folder.write("notes.db-journal", journal + Crash.journalEnd(naming: Array(name.utf8)))

        let isHot = try DatabaseFile(path).hasHotJournal
        #expect(isHot == (joining != .committed))
        let new = folder.path("new.db")
        let report = try DatabaseSalvage(path, to: new, form: .encrypted(key.key)).run()
        let isUndone = report.journal != nil
        #expect(isUndone == isHot)
        try FileManager.default.removeItem(atPath: new)
        let before = try folder.snapshot()
        if joining == .moved {
            do {
                try EncryptedDatabase.open(path, key: key.key).close()
                Issue.record("it was opened")
            } catch EncryptedDatabaseError.otherJournal(_, _, .superJournal, _) {
                #expect(try folder.snapshot() == before)
            }
        } else if joining == .unfinished {
            let rows = try SQLCipherShell.run(path, key: key.spelling, "SELECT a FROM t;")
            #expect(!rows.contains("never committed"))
        }
    }

    /// SQLite reads the name whatever the journal begins with, and to its first zero.
    @Test(arguments: [true, false])
    func aNameInAJournalIsReadAsSQLiteReadsIt(_ hasWrongStart: Bool) throws {
        try Fixtures.encrypted(path, key: key)
        let other = folder.path("other.txt")
        try folder.write("other.txt", "geblieben".utf8)
        let name = Array(other.utf8) + (hasWrongStart ? [] : Array("\0-mj1234569AB".utf8))
        var journal = Crash.journalOfNothing
        journal[19] = UInt8(try folder.databaseData().count / 4096)
        if hasWrongStart { journal[0] = UInt8(ascii: "X") }
        journal += Crash.journalEnd(naming: name)
        try folder.write("notes.db-journal", journal)
        let foreign = EncryptedDatabaseError.foreignJournal(path: path + "-journal")
        #expect(throws: foreign) { try EncryptedDatabase.open(path, key: key.key) }
        #expect(try folder.data("other.txt") == Data("geblieben".utf8))
    }

    /// SQLite gives journals to the owner of the database, who may have put another file there.
    @Test(.enabled(if: geteuid() == 0), arguments: ["-wal", "-journal", "-shm"])
    func aFileOfRootsIsNotGivenAway(_ suffix: String) throws {
        try Fixtures.encrypted(path, key: key)
        try #require(chown(path, 65_534, 65_534) == 0)
        try folder.write("notes.db" + suffix, "geheim".utf8, mode: 0o600)
        #expect(throws: EncryptedDatabaseError.journalOfAnother(path: path + suffix)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        var status = stat()
        #expect(stat(path + suffix, &status) == 0 && status.st_uid == 0)
        #expect(try folder.data("notes.db" + suffix) == Data("geheim".utf8))
    }

    /// Whoever may write to the folder can lay one. It may be a link to any file of theirs.
    @Test(.enabled(if: geteuid() == 0), arguments: ["-wal", "-journal", "-shm"])
    func aJournalThatAnotherUserHasLaidIsNotUsed(_ suffix: String) throws {
        try Fixtures.encrypted(path, key: key)
        let other = try folder.write("other", "theirs".utf8, mode: 0o644)
        try #require(chown(other, 65_534, 65_534) == 0)
        try #require(link(other, path + suffix) == 0)
        try #require(chmod(folder.path, 0o1777) == 0)
        #expect(throws: EncryptedDatabaseError.journalOfAnother(path: path + suffix)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        var status = stat()
        #expect(stat(other, &status) == 0 && status.st_uid == 65_534)
        #expect(try folder.data("other") == Data("theirs".utf8))
        // Users who share a folder may leave each other's.
        try #require(chmod(folder.path, 0o770) == 0)
        try EncryptedDatabase.open(path, key: key.key).close()
    }

    /// Others may link a file that they may write, and so read what gets into it.
    @Test(arguments: ["-wal", "-journal", "-shm"])
    func aLinkToAFileOfOnesOwnIsNotUsedAsAJournal(_ suffix: String) throws {
        try Fixtures.encrypted(path, key: key)
        let own = try folder.write("own", "mine".utf8, mode: 0o666)
        try #require(link(own, path + suffix) == 0)
        try #require(chmod(folder.path, 0o1777) == 0)
        #expect(throws: EncryptedDatabaseError.journalOfAnother(path: path + suffix)) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(try folder.data("own") == Data("mine".utf8))
    }

    @Test func aFailingOpenOfADatabaseInWALModeLeavesItsLogAlone() throws {
        try Fixtures.encrypted(path, key: key)
        try Crash.leaveLog(of: path, key: key)
        #expect(try folder.names.contains("notes.db-wal"))
        // As after a restore from a backup that took the log and left the index.
        try? FileManager.default.removeItem(atPath: folder.path("notes.db-shm"))
        try expect(.wrongKey(path: path), key: .raw())

        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.encrypted(path: path)) {
            try EncryptedDatabase.openPlaintext(path)
        }
        #expect(try folder.snapshot() == before)

        let queue = try EncryptedDatabase.open(path, key: key.key)
        #expect(
            try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t") }
                == ["zettel", "from the log"]
        )
    }

    @Test func aDamagedDatabaseWithALogKeepsBoth() throws {
        let tables = (1...200).map { "CREATE TABLE t\($0)(a, b, c);" }.joined()
        _ = try SQLCipherShell.run(path, key: key.spelling, "CREATE TABLE t(a);" + tables)
        try Crash.leaveLog(of: path, key: key)
        for page in 2...(try folder.databaseData().count / 4096) {
            try folder.damage(at: (page - 1) * 4096 + 500)
        }
        let before = (try folder.databaseData(), try folder.data("notes.db-wal"))
        #expect(throws: EncryptedDatabaseError.self) {
            try EncryptedDatabase.open(path, key: key.key)
        }
        #expect(try folder.databaseData() == before.0)
        #expect(try folder.data("notes.db-wal") == before.1)
    }

    @Test func aFailingOpenOfADatabaseWithAnUnfinishedChangeLeavesItsJournalAlone() throws {
        try Fixtures.encrypted(path, key: key)
        try Crash.leaveJournal(of: path, key: key)
        #expect(try folder.names == ["notes.db", "notes.db-journal"])
        try expect(.wrongKey(path: path), key: .raw())

        let before = try folder.snapshot()
        #expect(throws: EncryptedDatabaseError.needsRecovery(path: path)) {
            try EncryptedDatabase.open(path, key: key.key, options: .init(isReadOnly: true))
        }
        #expect(try folder.snapshot() == before)

        let queue = try EncryptedDatabase.open(path, key: key.key)
        #expect(try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t") } == ["zettel"])
    }
}
