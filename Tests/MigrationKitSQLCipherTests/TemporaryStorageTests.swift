import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@testable import MigrationKitPages

/// What SQLite puts into temporary files is in memory, or encrypted.
@Suite struct TemporaryStorageTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
    }

    /// What this process has open in the folder and has no name, by descriptor.
    private func unnamedFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").filter {
            let link = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\($0)"
            )
            return link?.hasPrefix(folder.path + "/") == true
                && link?.hasSuffix("(deleted)") == true
        }
    }

    // MARK: - The File

    /// Random reads, writes, gaps and cuts, beside an array of bytes. The room is smaller than what
    /// is written, so some of the files move to the disk, and at any time.
    @Test(arguments: 0..<Samples.count(3))
    func aFileIsLikeAnArrayOfBytes(round: Int) throws {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        let room = [0, 300 << 10, 1 << 20, 64 << 20][round % 4]
        let place = round % 5 == 4 ? nil : folder.database
        let file = TemporaryFile(room: MemoryRoom(room)) { place }
        var expected: [UInt8] = []
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
        for turn in 0..<300 {
            let comment: Comment = "seed \(seed), turn \(turn)"
            // Around the borders of sectors, of pieces of memory, and of what is read at once.
            let unit = [1, 512, 4096, 65536, 256 << 10][number(0...4)]
            let offset = max(0, number(0...((2 << 20) / unit)) * unit + number(-2...2))
            let count = [number(0...20), 4096, number(1...10_000), 65536, number(1...300_000)][
                number(0...4)
            ]
            switch number(0...9) {
            case 0...4:
                let start = number(0...3) == 0 ? expected.count : offset
                let first = number(0...255)
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ first) }
                #expect(bytes.withUnsafeBytes { file.write($0, at: start) } == SQLITE_OK, comment)
                let end = start + bytes.count
                if expected.count < end {
                    expected += [UInt8](repeating: 0, count: end - expected.count)
                }
                expected.replaceSubrange(start..<end, with: bytes)
            case 5...8:
                var bytes = [UInt8](repeating: 0xff, count: count)
                let code = bytes.withUnsafeMutableBytes { file.read(into: $0, at: offset) }
                let found = expected.dropFirst(offset).prefix(count)
                #expect(code == (found.count == count ? SQLITE_OK : CipherCode.shortRead), comment)
                let zeros = [UInt8](repeating: 0, count: count - found.count)
                let isEqual = bytes == Array(found) + zeros
                #expect(isEqual, comment)
            default:
                let size = number(0...3) == 0 ? offset : number(0...max(1, expected.count))
                #expect(file.setSize(size) == SQLITE_OK, comment)
                expected = Array(expected.prefix(size))
                expected += [UInt8](repeating: 0, count: size - expected.count)
            }
            #expect(file.size == expected.count, comment)
        }
        if place == nil { #expect(!file.isOnDisk) }
        if place != nil, room < 1 << 20 { #expect(file.isOnDisk, "seed \(seed)") }
        #expect(try folder.names.isEmpty)
    }

    @Test func theDiskGetsNothingThatCanBeRead() throws {
        let text = "the marker of a row"
        do {
            let file = TemporaryFile(room: MemoryRoom(1 << 20)) { folder.database }
            let bytes = Array(String(repeating: text, count: 1000).utf8)
            for index in 0..<200 {
                let code = bytes.withUnsafeBytes { file.write($0, at: index * $0.count) }
                #expect(code == SQLITE_OK)
            }
            #expect(file.isOnDisk)
            let descriptor = try #require(try unnamedFiles().first)
            var status = stat()
            #expect(fstat(try #require(Int32(descriptor)), &status) == 0)
            #expect(status.st_nlink == 0 && status.st_mode & 0o777 == 0o600)
            let stored = try Data(contentsOf: URL(fileURLWithPath: "/proc/self/fd/\(descriptor)"))
            #expect(stored.count >= file.size && stored.range(of: Data(text.utf8)) == nil)
            // The same text in two sectors, and in two files, is encrypted differently.
            let other = TemporaryFile(room: MemoryRoom(0)) { folder.database }
            #expect(bytes.withUnsafeBytes { other.write($0, at: 0) } == SQLITE_OK)
            let found = try unnamedFiles().map {
                try Data(contentsOf: URL(fileURLWithPath: "/proc/self/fd/\($0)"))
            }
            let sectors = found.flatMap { data in
                stride(from: 0, to: data.count, by: 4096).map {
                    data[$0..<min($0 + 4096, data.count)]
                }
            }
            #expect(found.count == 2 && Set(sectors).count == sectors.count)
        }
        #expect(try unnamedFiles().isEmpty)
    }

    @Test func memoryIsGivenBack() throws {
        let room = MemoryRoom(1 << 20)
        let bytes = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<3 {
            let file = TemporaryFile(room: room) { folder.database }
            #expect(bytes.withUnsafeBytes { file.write($0, at: 0) } == SQLITE_OK)
            #expect(!file.isOnDisk)
            let second = TemporaryFile(room: room) { folder.database }
            #expect(bytes.withUnsafeBytes { second.write($0, at: 0) } == SQLITE_OK)
            #expect(second.isOnDisk)
            #expect(file.setSize(0) == SQLITE_OK)
            let third = TemporaryFile(room: room) { folder.database }
            #expect(bytes.withUnsafeBytes { third.write($0, at: 0) } == SQLITE_OK)
            #expect(!third.isOnDisk)
        }
    }

    @Test func aFolderThatIsGoneLeavesEverythingInMemory() throws {
        let file = TemporaryFile(room: MemoryRoom(0)) { folder.path("gone/store.db") }
        let bytes = [UInt8](repeating: 7, count: 3 << 20)
        #expect(bytes.withUnsafeBytes { file.write($0, at: 0) } == SQLITE_OK)
        var found = [UInt8](repeating: 0, count: bytes.count)
        #expect(found.withUnsafeMutableBytes { file.read(into: $0, at: 0) } == SQLITE_OK)
        #expect(found == bytes && !file.isOnDisk)
    }

    /// Some network file systems have no files without a name.
    @Test func aFileThatNeedsANameLosesItAtOnce() throws {
        let descriptor = try UnnamedFile.create(beside: folder.database, canBeWithoutName: false)
            .get()
        defer { close(descriptor) }
        var status = stat()
        #expect(fstat(descriptor, &status) == 0)
        #expect(status.st_nlink == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try folder.names.isEmpty)
    }

    // MARK: - Connections

    private static let rows = """
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 16000)
        """

    /// Statements that need temporary storage, and more of it than a cache holds.
    private static let work = [
        "CREATE INDEX item_body ON item(body)",
        "CREATE UNIQUE INDEX item_both ON item(body COLLATE NOCASE, id DESC)",
        "CREATE TEMP TABLE half AS SELECT * FROM item WHERE id % 2 = 0",
        "CREATE INDEX temp.half_body ON half(body)",
        "BEGIN; SAVEPOINT a; UPDATE item SET body = body || 'x'; UPDATE half SET body = 'gone'; "
            + "DELETE FROM half WHERE id % 3 = 0; ROLLBACK TO a; "
            + "UPDATE OR ROLLBACK half SET id = id + 1; COMMIT",
        "INSERT INTO other.copied SELECT * FROM item ORDER BY body",
        "DELETE FROM item WHERE id % 5 = 0",
        "VACUUM",
    ]

    private static let questions = [
        "SELECT id, body FROM item ORDER BY body DESC, id",
        "SELECT DISTINCT body || id % 7 FROM item",
        "SELECT substr(body, 1, 4), count(*), max(body) FROM item GROUP BY 1",
        "SELECT body FROM item UNION SELECT body FROM half ORDER BY 1",
        "SELECT id FROM half EXCEPT SELECT id FROM item WHERE body IN (SELECT body FROM half)",
        "SELECT a.id, b.id FROM half a JOIN other.copied b USING (body) ORDER BY a.body, 1, 2",
        "SELECT id, row_number() OVER (ORDER BY body) FROM item ORDER BY body, id",
        "PRAGMA integrity_check", "PRAGMA temp.integrity_check", "PRAGMA other.integrity_check",
    ]

    /// What the questions return, on a new database, and how much was in files meanwhile.
    private func answers(_ name: String, prepare: String) throws -> (hashes: [Int], spilled: Bool) {
        var options = EncryptedDatabase.Options()
        options.createsFile = true
        let queue = try EncryptedDatabase.open(folder.path(name), key: key.key, options: options)
        let other = folder.path("other-" + name)
        var spilled = false
        let hashes = try queue.writeWithoutTransaction { db in
            try db.execute(sql: prepare)
            try db.execute(sql: "ATTACH DATABASE ? AS other", arguments: [other])
            try db.execute(
                sql: """
                    CREATE TABLE item(id INTEGER PRIMARY KEY, body TEXT);
                    CREATE TABLE other.copied(id INTEGER PRIMARY KEY, body TEXT);
                    \(Self.rows) INSERT INTO item
                    SELECT x, printf('%08x', (x * 2654435761) % 4294967296) || hex(zeroblob(220)) FROM n
                    """
            )
            for sql in Self.work {
                try db.execute(sql: sql)
                spilled = try spilled || !unnamedFiles().isEmpty
            }
            return try Self.questions.map { sql in
                var hasher = Hasher()
                let cursor = try Row.fetchCursor(db, sql: sql)
                while let row = try cursor.next() {
                    hasher.combine(Array(row.databaseValues))
                    spilled = try spilled || (row["id"] as Int?) == 4 && !unnamedFiles().isEmpty
                }
                return hasher.finalize()
            }
        }
        try queue.close()
        return (hashes, spilled)
    }

    /// In a process of its own: a file goes beside the database that was opened last.
    @Test func everyStatementAnswersAsInMemory() throws {
        let result = try TestInOwnProcess.run("childComparesTheAnswers", arguments: ["compare"])
        #expect(result.hasPassed("childComparesTheAnswers"), "\(result)")
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childComparesTheAnswers() throws {
        let inMemory = try answers("memory.db", prepare: "PRAGMA temp_store = MEMORY")
        #expect(!inMemory.spilled)
        #expect(try answers("room.db", prepare: "").hashes == inMemory.hashes)

        // Nothing is left for others.
        TemporaryStorage.room.take(TemporaryStorage.memoryLimit, limited: false)
        defer { TemporaryStorage.room.give(TemporaryStorage.memoryLimit) }
        let spilled = try answers("spilled.db", prepare: "")
        #expect(spilled.spilled)
        #expect(spilled.hashes == inMemory.hashes)
        // Several threads sort. <https://www.sqlite.org/pragma.html#pragma_threads>
        let threads = try answers("threads.db", prepare: "PRAGMA threads = 3")
        #expect(threads.spilled)
        #expect(threads.hashes == inMemory.hashes)

        #expect(try unnamedFiles().isEmpty)
        let names = ["memory.db", "room.db", "spilled.db", "threads.db"]
        #expect(try folder.names == (names + names.map { "other-" + $0 }).sorted())
    }

    /// An app that registers a VFS of its own may have a reason to see all files.
    @Test func aConnectionOnAnotherSystemKeepsTemporaryDataInMemory() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let result = try TestInOwnProcess.run(
            "childUsesAnotherSystem",
            arguments: [folder.database]
        )
        #expect(result.hasPassed("childUsesAnotherSystem"), "\(result)")
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil))
    func childUsesAnotherSystem() throws {
        let path = try #require(TestInOwnProcess.arguments?.first)
        func storage() throws -> Int? {
            let queue = try EncryptedDatabase.openPlaintext(
                path + ".plain",
                options: .init(createsFile: true)
            )
            return try queue.read { try Int.fetchOne($0, sql: "PRAGMA temp_store") }
        }
        #expect(try storage() == 1)
        let system = try #require(sqlite3_vfs_find("unix"))
        #expect(sqlite3_vfs_register(system, 1) == SQLITE_OK)
        #expect(try storage() == 2)
        let own = try #require(sqlite3_vfs_find("migrationkit"))
        #expect(sqlite3_vfs_register(own, 1) == SQLITE_OK)
        #expect(try storage() == 1)
    }

    /// GRDB's connections that aren't the library's have everything in memory, as before.
    @Test func otherConnectionsAreAsTheyWere() throws {
        try EncryptedDatabase.openPlaintext(folder.database, options: .init(createsFile: true))
            .close()
        let queue = try DatabaseQueue(path: folder.path("own.db"))
        #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA temp_store") } == 0)
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(a); INSERT INTO t VALUES (1)"
            )
            var name: UnsafeMutablePointer<CChar>?
            sqlite3_file_control(db.sqliteConnection, "main", SQLITE_FCNTL_VFSNAME, &name)
            // The file itself is the system's.
            #expect(name.map { String(cString: $0) } == "unix")
            sqlite3_free(name)
        }
        try queue.close()
        let again = try DatabaseQueue(path: folder.path("own.db"))
        #expect(try again.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 1)
    }
}
