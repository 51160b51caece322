import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct ConversionTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func holdsMarker(_ name: String) throws -> Bool {
        let data = try folder.data(name)
        return data.range(of: Data(RichStore.marker.utf8)) != nil
            || data.range(of: Data(RichStore.marker.utf16.flatMap { [UInt8($0), 0] })) != nil
    }

    // MARK: - What Is Kept

    @Test(arguments: RichStore.all)
    func encryptedRekeyedAndDecryptedStoreIsTheSame(_ store: RichStore) throws {
        let path = folder.database
        try store.make(path, key: nil)
        let content = try RichStore.content(path, key: nil)
        #expect(content.split(separator: "\n")[2] == store.journalMode)
        #expect(try holdsMarker(TemporaryFolder.databaseName))

        var last: TestKey?
        // Each form of a key after each other.
        for key in try TestKey.each() + [TestKey.passphrase()] {
            let report =
                if let last {
                    try DatabaseConversion.rekey(path, from: last.key, to: key.key).run()
                } else {
                    try DatabaseConversion.encrypt(path, key: key.key).run()
                }
            #expect(report.rowCount > 7000 && report.tableCount == 13)
            #expect(try folder.names == [TemporaryFolder.databaseName])
            #expect(try !holdsMarker(TemporaryFolder.databaseName))
            #expect(folder.mode(TemporaryFolder.databaseName) == 0o600)
            #expect(try RichStore.content(path, key: key.spelling) == content)
            // Our own connection layer opens it, too.
            try EncryptedDatabase.open(path, key: key.key).close()
            last = key
        }
        let key = try #require(last?.key)
        try DatabaseConversion.decrypt(path, key: key).run()
        #expect(try folder.names == [TemporaryFolder.databaseName])
        #expect(try RichStore.content(path, key: nil) == content)
    }

    @Test(arguments: [1, 2, 3])
    func olderFormatIsUpgraded(_ version: Int) throws {
        for (key, store) in zip(try [TestKey.passphrase(), .raw()], RichStore.all) {
            let path = folder.path("\(version)-\(store.journalMode).db")
            try store.make(path, key: nil)
            let content = try RichStore.content(path, key: nil)
            let old = try CipherSettings.sqlCipher(version)
            try DatabaseConversion.encrypt(path, key: key.key, cipher: old).run()
            #expect(throws: (any Error).self) { try RichStore.content(path, key: key.spelling) }

            try DatabaseConversion.upgrade(path, key: key.key).run()
            #expect(try RichStore.content(path, key: key.spelling) == content)
            #expect(throws: DatabaseConversionError.alreadyCurrent(path: path)) {
                try DatabaseConversion.upgrade(path, key: key.key).run()
            }
        }
    }

    @Test(arguments: [1024, 8192, 65536])
    func pageSizeIsAsAskedFor(_ size: Int) throws {
        let (path, key) = (folder.database, try TestKey.raw())
        try RichStore.all[0].make(path, key: nil)
        let content = try RichStore.content(path, key: nil)
        let cipher = try CipherSettings(pageSize: size)
        try DatabaseConversion.encrypt(path, key: key.key, cipher: cipher).run()
        #expect(
            try SQLCipherShell.run(
                path,
                key: key.spelling,
                "PRAGMA cipher_page_size = \(size);\nPRAGMA page_size;\nPRAGMA quick_check;"
            ) == "\(size)\nok"
        )
        // Without a wish of its own, the plaintext file keeps them.
        try DatabaseConversion.decrypt(path, key: key.key, cipher: cipher).run()
        #expect(try SQLiteShell.run(path, "PRAGMA page_size;") == "\(size)\n")
        #expect(try RichStore.content(path, key: nil) == content)
    }

    @Test func whatOnlyTheWriteAheadLogHasIsNotLost() throws {
        // As a process leaves it that was killed: the copies are made while the shell has it open.
        let (start, path) = (folder.path("start.db"), folder.database)
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            start,
            key: key.spelling,
            """
            PRAGMA journal_mode = WAL;
            PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE t (a);
            INSERT INTO t VALUES ('in the log');
            .shell cp \(start) \(path); cp \(start)-wal \(path)-wal
            """
        )
        #expect(try folder.databaseData().count < folder.data("notes.db-wal").count)
        let new = try TestKey.passphrase()
        try DatabaseConversion.rekey(path, from: key.key, to: new.key).run()
        #expect(try folder.names == ["notes.db", "start.db"])
        #expect(try SQLCipherShell.run(path, key: new.spelling, "SELECT a FROM t;") == "in the log")
    }

    // MARK: - Where It Goes

    @Test func outputLeavesTheDatabaseAsItIs() throws {
        let (path, output, key) = (folder.database, folder.path("out.db"), try TestKey.raw())
        try RichStore.all[0].make(path, key: nil)
        let before = try folder.snapshot().entries["notes.db"]
        let report = try DatabaseConversion.encrypt(
            path,
            key: key.key
        ).run(to: output)
        #expect(report.path == output)
        #expect(try folder.snapshot().entries["notes.db"] == before)
        #expect(
            try RichStore.content(output, key: key.spelling) == RichStore.content(path, key: nil)
        )
        #expect(throws: DatabaseConversionError.exists(path: output)) {
            try DatabaseConversion.encrypt(
                path,
                key: key.key
            ).run(to: output)
        }
        #expect(try folder.names == ["notes.db", "out.db"])
    }

    @Test func originalIsKeptByteForByte() throws {
        let (path, kept, key) = (folder.database, folder.path("kept.db"), try TestKey.raw())
        try RichStore.all[0].make(path, key: nil)
        let bytes = try folder.databaseData()
        try DatabaseConversion.encrypt(
            path,
            key: key.key
        ).run(keptOriginalPath: kept)
        #expect(try folder.data("kept.db") == bytes)
        #expect(try folder.names == ["kept.db", "notes.db"])

        let before = try folder.snapshot()
        #expect(throws: DatabaseConversionError.exists(path: kept)) {
            try DatabaseConversion.decrypt(
                path,
                key: key.key
            ).run(keptOriginalPath: kept)
        }
        #expect(try folder.snapshot() == before)
    }

    @Test func linkStaysAndItsTargetIsConverted() throws {
        try folder.makeFolder("real")
        let (link, target) = (folder.database, folder.path("real/store.db"))
        try RichStore.all[1].make(target, key: nil)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(chmod(target, 0o644) == 0)
        let key = try TestKey.raw()
        let report = try DatabaseConversion.encrypt(link, key: key.key).run()
        #expect(report.path == target)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
        #expect(folder.mode("real/store.db") == 0o600)
        #expect(try folder.names == ["notes.db", "real"])
        try EncryptedDatabase.open(link, key: key.key).close()
    }

    @Test func otherNameOfTheFileKeepsTheOldContent() throws {
        let key = try TestKey.raw()
        try Fixtures.plaintext(folder.database)
        let bytes = try folder.databaseData()
        #expect(link(folder.database, folder.path("backup.db")) == 0)
        try DatabaseConversion.encrypt(folder.database, key: key.key).run()
        #expect(try folder.data("backup.db") == bytes)
        try EncryptedDatabase.open(folder.database, key: key.key).close()
    }

    /// Those that the list names keep their access, everybody else loses it as with the mode.
    @Test func attributesAndAccessListAreKept() throws {
        let (path, kept, key) = (folder.database, folder.path("kept.db"), try TestKey.raw())
        try Fixtures.plaintext(path)
        func list(group: UInt8, others: UInt8) -> [UInt8] {
            func entry(_ tag: UInt8, _ permissions: UInt8, _ id: UInt8? = nil) -> [UInt8] {
                [tag, 0, permissions, 0] + (id.map { [$0, 0, 0, 0] } ?? [255, 255, 255, 255])
            }
            return [2, 0, 0, 0] + entry(1, 6) + entry(2, 6, 1) + entry(4, group) + entry(16, 6)
                + entry(32, others)
        }
        func read(_ path: String, _ name: String) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = getxattr(path, name, &bytes, bytes.count)
            return Array(bytes.prefix(max(count, 0)))
        }
        let (note, access) = ("user.note", "system.posix_acl_access")
        let before = list(group: 4, others: 4)
        try #require(setxattr(path, note, "hello", 5, 0) == 0)
        try #require(setxattr(path, access, before, before.count, 0) == 0)
        try DatabaseConversion.encrypt(
            path,
            key: key.key
        ).run(keptOriginalPath: kept)
        #expect(read(path, note) == Array("hello".utf8))
        #expect(read(path, access) == list(group: 0, others: 0))
        #expect(folder.mode("notes.db") == 0o660)
        #expect(read(kept, note) == Array("hello".utf8))
        #expect(read(kept, access) == before)
    }

    /// The log can't repair it, and moved into the file would fill the gap with zeros.
    @Test(arguments: [false, true])
    func aTruncatedFileWithALogStaysAsItIs(_ isEncrypted: Bool) throws {
        let key = isEncrypted ? try TestKey.raw().key : nil
        let queue =
            try key.map {
                try EncryptedDatabase.open(
                    folder.database,
                    key: $0,
                    options: .init(createsFile: true)
                )
            }
            ?? EncryptedDatabase.openPlaintext(folder.database, options: .init(createsFile: true))
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL; CREATE TABLE t (a);
                    INSERT INTO t WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 99)
                    SELECT randomblob(900) FROM n;
                    PRAGMA wal_checkpoint(TRUNCATE);
                    CREATE TABLE u (a);
                    """
            )
        }
        let (database, log) = (try folder.databaseData(), try folder.data("notes.db-wal"))
        try queue.close()
        let part = database.prefix(database.count / 2)
        try folder.write("notes.db", part)
        try folder.write("notes.db-wal", log)
        let new = try TestKey.raw().key
        #expect(throws: EncryptedDatabaseError.damaged(path: folder.database, pages: [])) {
            try key.map { try DatabaseConversion.rekey(folder.database, from: $0, to: new).run() }
                ?? DatabaseConversion.encrypt(folder.database, key: new).run()
        }
        #expect(try folder.databaseData() == part)
        #expect(try folder.data("notes.db-wal") == log)
    }

    @Test(
        arguments: [
            "with space.db", "quote's.db", "a\"b.db", "new\nline.db", "ünï✓.db", "100%.db",
            "file:x?mode=ro.db", "-wal", "#;&.db",
        ]
    )
    func pathMayBeOdd(_ name: String) throws {
        let (path, key, new) = (folder.path(name), try TestKey.raw(), try TestKey.raw())
        try Fixtures.plaintext(path)
        try DatabaseConversion.encrypt(path, key: key.key).run()
        try DatabaseConversion.rekey(
            path,
            from: key.key,
            to: new.key
        ).run(keptOriginalPath: path + " kept")
        #expect(try folder.names == [name, name + " kept"])
        let queue = try EncryptedDatabase.open(path, key: new.key)
        #expect(try queue.read { try String.fetchOne($0, sql: "SELECT a FROM t") } == "zettel")
        try queue.close()
    }

    @Test func leftoversOfKilledRunsGoAndNothingElse() throws {
        let key = try TestKey.raw()
        try Fixtures.plaintext(folder.database)
        let other = [
            ".notes.db-converting-", ".notes.db-converting-xyz", ".other.db-converting-00ff",
            "notes.db-converting-00ff", ".notes.db-converting-00ff-mine",
        ]
        for name in other + [".notes.db-converting-00ff", ".notes.db-converting-00ff-wal"] {
            try folder.write(name, "rest".utf8)
        }
        try DatabaseConversion.encrypt(folder.database, key: key.key).run()
        #expect(try folder.names == (other + ["notes.db"]).sorted())
    }

    /// In the other folder, a database of the same name is being converted at the time.
    @Test(arguments: [true, false])
    func filesOfAConversionInAnotherFolderAreLeftAlone(isOutput: Bool) throws {
        let (key, other) = (try TestKey.raw(), try TemporaryFolder())
        try Fixtures.plaintext(folder.database)
        for name in [".notes.db-converting-00ff", ".copy.db-converting-00ff"] {
            try other.write(name, "rest".utf8)
        }
        let copy = other.path("copy.db")
        let conversion = DatabaseConversion.encrypt(folder.database, key: key.key)
        _ = try isOutput ? conversion.run(to: copy) : conversion.run(keptOriginalPath: copy)
        #expect(try other.names == [".notes.db-converting-00ff", "copy.db"])
        #expect(try folder.names == ["notes.db"])
    }

    @Test(arguments: [true, false])
    func leftoversGoThoughTheCopyIsThereAlready(isOutput: Bool) throws {
        let (key, copy) = (try TestKey.raw(), folder.path("copy.db"))
        try Fixtures.plaintext(folder.database)
        try folder.write("copy.db", "copy".utf8)
        let left = isOutput ? ".copy.db-converting-00ff" : ".notes.db-converting-00ff"
        try folder.write(left, "copy".utf8)
        #expect(throws: DatabaseConversionError.exists(path: copy)) {
            let conversion = DatabaseConversion.encrypt(folder.database, key: key.key)
            _ = try isOutput ? conversion.run(to: copy) : conversion.run(keptOriginalPath: copy)
        }
        #expect(try folder.names == ["copy.db", "notes.db"])
    }

    // MARK: - What Is Wrong in the Source

    @Test func whatIsWrongInTheSourceIsReportedByEveryConversion() throws {
        let (path, key) = (folder.database, try TestKey.raw())
        _ = try SQLCipherShell.run(path, key: nil, SQLCipherShell.shortIndex)
        let large = try CipherSettings(pageSize: 8192)
        for conversion in [
            DatabaseConversion.encrypt(path, key: key.key),
            .rekey(path, from: key.key, to: key.key),
            .rekey(path, from: key.key, to: key.key, newCipher: large),
            .upgrade(path, key: key.key, cipher: large),
            .decrypt(path, key: key.key),
        ] {
            #expect(try conversion.run().findings == ["wrong # of entries in index i"])
        }
    }

    @Test func aDamagedFullTextIndexIsReportedByEveryConversion() throws {
        let (path, key) = (folder.database, try TestKey.raw())
        _ = try SQLCipherShell.run(
            path,
            key: nil,
            """
            .dbconfig defensive off
            CREATE VIRTUAL TABLE found USING fts5(text); INSERT INTO found VALUES ('word');
            DELETE FROM found_config;
            """
        )
        let large = try CipherSettings(pageSize: 8192)
        for conversion in [
            DatabaseConversion.encrypt(path, key: key.key),
            .rekey(path, from: key.key, to: key.key),
            .rekey(path, from: key.key, to: key.key, newCipher: large),
            .decrypt(path, key: key.key, cipher: large),
        ] {
            #expect(try conversion.run().findings.count == 1)
        }
    }

    @Test func unknownCollationIsNamedIfRowsAreCopied() throws {
        let (path, key) = (folder.database, try TestKey.raw())
        let collation = DatabaseCollation("spoken") { $0.compare($1) }
        let queue = try EncryptedDatabase.open(
            path,
            key: key.key,
            options: .init(createsFile: true, collations: [collation])
        )
        try queue.write { db in
            try db.execute(
                sql:
                    "CREATE TABLE t (a COLLATE spoken); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1)"
            )
        }
        try queue.close()
        try DatabaseConversion.rekey(path, from: key.key, to: key.key).run()
        #expect(throws: DatabaseConversionError.unknownCollation(path: path, name: "spoken")) {
            try DatabaseConversion.decrypt(path, key: key.key).run()
        }
        let options = RewriteOptions(collations: [collation])
        try DatabaseConversion.decrypt(path, key: key.key, options: options).run()
    }

    @Test func unknownFunctionIsNamedIfRowsAreCopied() throws {
        let (path, key) = (folder.database, try TestKey.raw())
        let function = DatabaseFunction("spoken", argumentCount: 1, pure: true) { $0[0] }
        let queue = try EncryptedDatabase.open(
            path,
            key: key.key,
            options: .init(createsFile: true, functions: [function])
        )
        try queue.write { db in
            try db.execute(
                sql: "CREATE TABLE t (a); CREATE INDEX i ON t (spoken(a)); INSERT INTO t VALUES (1)"
            )
        }
        try queue.close()
        try DatabaseConversion.rekey(path, from: key.key, to: key.key).run()
        #expect(throws: DatabaseConversionError.unknownFunction(path: path, name: "spoken")) {
            try DatabaseConversion.decrypt(path, key: key.key).run()
        }
        let options = RewriteOptions(functions: [function])
        try DatabaseConversion.decrypt(path, key: key.key, options: options).run()
    }
}
