import CSQLCipher
import Foundation
import GRDB
import MigrationKitKeys
import TestSupport
import Testing

@testable import MigrationKitPages
@testable import MigrationKitSQLCipher

/// Our own walk over the pages, beside SQLite's `quick_check`.
@Suite struct StructureCheckTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: StructureSample.all)
    func soundDatabasesHaveNoFindings(_ sample: StructureSample) throws {
        let seed = SeededGenerator.seed
        try sample.make(folder.database, seed: seed)
        let report = try sample.check(folder.database)
        #expect(report.findings == [], "seed \(seed)")
        let counts = try sample.withDatabase(folder.database) { db in
            #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
            return try StructureSample.tables.map { table in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0
            }
        }
        #expect(StructureSample.tables.map { report.content($0)?.count } == counts, "seed \(seed)")
    }

    @Test func virtualTablesAndEmptyDatabasesHaveNoFindings() throws {
        let sample = StructureSample(pageSize: 4096)
        for store in RichStore.all where store.journalMode == "delete" {
            try store.make(folder.path("rich"), key: nil)
            #expect(try sample.check(folder.path("rich")).findings == [])
            try FileManager.default.removeItem(atPath: folder.path("rich"))
        }
        try sample.withDatabase(folder.database) { try $0.execute(sql: "PRAGMA user_version = 3") }
        let report = try sample.check(folder.database)
        #expect(report.findings == [] && report.objects.isEmpty)
    }

    /// SQLCipher's own VACUUM INTO only keeps the default page size.
    @Test(arguments: StructureSample.all.filter { !$0.isEncrypted || $0.pageSize == 4096 })
    func contentsAreEqualWhateverThePages(_ sample: StructureSample) throws {
        let seed = SeededGenerator.seed
        try sample.make(folder.database, seed: seed)
        let keys = ContentKeys()
        let before = try sample.check(folder.database, keys)
        let other = folder.path("other.db")
        try sample.withDatabase(folder.database) { db in
            if !sample.isEncrypted { try db.execute(sql: "PRAGMA page_size = 2048") }
            try db.execute(sql: "VACUUM INTO ?", arguments: [other])
        }
        let after = try sample.check(other, keys)
        #expect(after.findings == [], "seed \(seed)")
        for object in before.objects where object.root > 0 {
            #expect(
                before.contents[object.root] == after.content(object.name),
                "\(object.name), seed \(seed)"
            )
        }
    }

    /// Each changes one table; those in the list are what has another digest.
    static let changes: KeyValuePairs = [
        "UPDATE t SET b = b || 'x' WHERE id = (SELECT max(id) FROM t)": ["t", "t_ba"],
        "UPDATE t SET d = d || x'00' WHERE id = (SELECT min(id) FROM t)": ["t"],
        """
        UPDATE t SET d = (SELECT d FROM t o WHERE o.id = (
            SELECT min(id) + max(id) FROM t) - t.id) WHERE id IN (
            SELECT min(id) FROM t UNION SELECT max(id) FROM t)
        """: ["t"],
        "UPDATE t SET a = (SELECT a FROM t WHERE id = 1) WHERE id = 2": ["t", "t_a", "t_ba"],
        "DELETE FROM t WHERE id = (SELECT max(id) FROM t)": ["t", "t_a", "t_ba"],
        "INSERT INTO t SELECT max(id) + 1, a, b, c, d FROM t": ["t", "t_a", "t_ba"],
        "UPDATE t SET id = -9 WHERE id = 1": ["t", "t_a", "t_ba"],
        "UPDATE w SET v = 'other' WHERE k = (SELECT min(k) FROM w)": ["w"],
        "INSERT INTO wide(c1) VALUES (NULL)": ["wide"],
        "REINDEX": [],
    ]

    @Test func aDifferentRowOrEntryShows() throws {
        let sample = StructureSample(pageSize: 1024)
        let keys = ContentKeys()
        for (change, tables) in Self.changes {
            try sample.make(folder.database, seed: 7)
            let before = try sample.check(folder.database, keys)
            try sample.withDatabase(folder.database) { try $0.execute(sql: change) }
            let after = try sample.check(folder.database, keys)
            #expect(after.findings == [])
            let different = before.objects.filter {
                $0.root > 0 && before.contents[$0.root] != after.content($0.name)
            }
            #expect(Set(different.map(\.name)) == Set(tables), "\(change)")
            try FileManager.default.removeItem(atPath: folder.database)
        }
    }

    @Test func entriesInAnotherOrderShow() throws {
        let sample = StructureSample(pageSize: 1024)
        try sample.make(folder.database, seed: 7)
        let keys = ContentKeys()
        let before = try sample.check(folder.database, keys)
        var image = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.database)))
        let leaf = try #require(
            stride(from: 1024, to: image.count, by: 1024).first {
                image[$0] == TreeKind.leafIndex.rawValue && image.half($0 + 3) > 5
            }
        )
        // Two entries change places, where nothing else of the structure says so.
        for index in 0..<2 { image.swapAt(leaf + 8 + index, leaf + 12 + index) }
        try Data(image).write(to: URL(fileURLWithPath: folder.database))
        let after = try sample.check(folder.database, keys)
        #expect(after.findings == [])
        #expect(before.contents.filter { after.contents[$0.key] != $0.value }.count == 1)
    }

    @Test(arguments: StructureSample.all)
    func whatQuickCheckFindsIsFound(_ sample: StructureSample) throws {
        let seed = SeededGenerator.seed
        var generator = SeededGenerator(seed: seed)
        try sample.make(folder.database, seed: seed)
        let keys = ContentKeys()
        let before = try sample.check(folder.database, keys)
        let rows = try sample.rows(folder.database)
        let stored = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.database)))
        let image = try sample.decrypted(stored)
        var (found, content) = (0, 0)
        let rounds = Samples.count(30)
        for round in 0..<rounds {
            // A round may leave a journal or a log behind.
            let path = folder.path("damaged-\(round).db")
            defer { try? FileManager.default.removeItem(atPath: path) }
            var damaged = image
            let kinds = try (0..<Int.random(in: 1...2, using: &generator)).map { _ in
                let kind = PageDamage.allCases.randomElement(using: &generator)
                return try #require(kind).apply(to: &damaged, sample.pageSize, &generator)
            }
            let comment: Comment = "seed \(seed), round \(round): \(kinds)"
            try Data(try sample.encrypted(damaged, image, stored))
                .write(to: URL(fileURLWithPath: path))
            let expected = try sample.quickCheck(damaged, at: folder.path("plain-\(round).db"))
            // A file without a header isn't even opened.
            guard let report = try? sample.check(path, keys) else { continue }
            switch expected {
            case .damage(let findings):
                found += 1
                #expect(!report.findings.isEmpty, "\(comment) \(findings)")
            case .schema: continue
            case .sound where report.findings.isEmpty:
                // Other content in a sound structure.
                guard let damagedRows = try? sample.rows(path), damagedRows != rows else {
                    continue
                }
                content += 1
                let names = Set(before.objects + report.objects).filter { $0.root > 0 }.map(\.name)
                #expect(
                    before.objects != report.objects
                        || names.contains { before.content($0) != report.content($0) },
                    comment
                )
            case .sound: continue
            }
        }
        print("\(sample.testDescription): \(found) found by quick_check, \(content) in the content")
        #expect(found > rounds * 15 / 130)
    }

    @Test func anIndexOfNoTableLeavesADoubt() throws {
        let sample = StructureSample(pageSize: 1024)
        try sample.make(folder.database, seed: 7)
        try sample.withDatabase(folder.database) { db in
            try db.execute(
                sql: """
                    PRAGMA writable_schema = ON;
                    UPDATE sqlite_schema SET tbl_name = 'x' WHERE name = 't_a'
                    """
            )
        }
        #expect(try sample.check(folder.database).findings == ["index t_a belongs to no table"])
    }

    // MARK: - A Copy

    @Test func aComparisonNamesTheTablesThatDiffer() throws {
        let sample = StructureSample(pageSize: 1024)
        let keys = ContentKeys()
        try sample.make(folder.database, seed: 7)
        let source = try sample.check(folder.database, keys)
        func comparison(after change: String) throws -> TreeComparison? {
            let copy = folder.path("copy.db")
            try FileManager.default.copyItem(atPath: folder.database, toPath: copy)
            defer { try? FileManager.default.removeItem(atPath: copy) }
            try sample.withDatabase(copy) { try $0.execute(sql: change) }
            return TreeComparison(source: source, copy: try sample.check(copy, keys))
        }
        let same = try #require(try comparison(after: "REINDEX"))
        #expect(same.tables.isEmpty && same.unproven.isEmpty && same.content.tableCount == 5)
        let changed = try comparison(after: "UPDATE w SET v = 'other' WHERE n = 1")
        #expect(changed?.tables == ["w"] && changed?.unproven == ["w"])
        #expect(try comparison(after: "PRAGMA user_version = 9") == nil)
        #expect(try comparison(after: "PRAGMA application_id = 9") == nil)
        #expect(try comparison(after: "DROP VIEW v") == nil)
        #expect(try comparison(after: "DROP INDEX t_a") == nil)
    }

    /// Before format 4, 0 and 1 are stored in a byte each, and DESC is ignored.
    /// <https://www.sqlite.org/fileformat.html#schema_format_number>
    @Test func copyOfAnOlderFormatHasTheSameRecordsAndOrder() throws {
        let sample = StructureSample(pageSize: 4096)
        try sample.withDatabase(folder.database) {
            try $0.execute(sql: "CREATE TABLE t(a, b); CREATE INDEX t_ab ON t(a DESC, b)")
        }
        var image = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        image[47] = 1
        try image.write(to: URL(fileURLWithPath: folder.database))
        try sample.withDatabase(folder.database) {
            try $0.execute(
                sql: """
                    INSERT INTO t VALUES (1, 0), (0, 1), (7, 'x'), (1, 1), (5, 5);
                    DELETE FROM t WHERE a = 0
                    """
            )
        }
        let (source, found) = try contents(afterEncrypting: sample)
        #expect(source.content("t") == found.content("t"))
        #expect(source.content("t_ab") == found.content("t_ab"))
    }

    /// A row from before a column was added doesn't have it. The copy's row does, if it was written
    /// with its rowid.
    @Test func rowsWithOtherBytesAreComparedThroughSQLite() throws {
        let sample = StructureSample(pageSize: 4096)
        try sample.withDatabase(folder.database) {
            try $0.execute(
                sql: """
                    CREATE TABLE t(a, b);
                    INSERT INTO t VALUES (1, 0), (0, 1), (7, 'x'), (1, 1);
                    DELETE FROM t WHERE a = 0;
                    ALTER TABLE t ADD COLUMN c DEFAULT 'later'
                    """
            )
        }
        let (source, found) = try contents(afterEncrypting: sample)
        // Otherwise this test proves nothing.
        #expect(source.content("t") != found.content("t"))
    }

    private func contents(
        afterEncrypting sample: StructureSample
    ) throws -> (source: StructureCheck.Report, copy: StructureCheck.Report) {
        let (copy, key, keys) = (folder.path("copy.db"), try TestKey.raw(), ContentKeys())
        try DatabaseConversion.encrypt(
            folder.database,
            key: key.key
        ).run(to: copy)
        let source = try sample.check(folder.database, keys)
        let encrypted = StructureSample(pageSize: sample.pageSize, key: key)
        let found = try encrypted.check(copy, keys)
        #expect(source.findings == [] && found.findings == [])
        return (source, found)
    }

    @Test func anUnauthenticPageShows() throws {
        let sample = StructureSample(pageSize: 1024, key: try TestKey.raw())
        try sample.make(folder.database, seed: 7)
        let stored = try Data(contentsOf: URL(fileURLWithPath: folder.database))
        for page in 1..<stored.count / sample.pageSize {
            var damaged = stored
            damaged[(page + 1) * sample.pageSize - 100] ^= 1
            try damaged.write(to: URL(fileURLWithPath: folder.database))
            let report = try sample.check(folder.database)
            #expect(report.findings.contains("page \(page + 1): can't be read (SQLite 11)"))
        }
    }

    @Test func itEndsWhenAskedTo() throws {
        let sample = StructureSample(pageSize: 512)
        try sample.make(folder.database, seed: 7)
        #expect(throws: CancellationError.self) {
            try sample.check(folder.database) { _ in throw CancellationError() }
        }
    }
}

/// A small database of each kind of b-tree, with random content.
struct StructureSample: CustomTestStringConvertible, Sendable {
    var pageSize: Int
    var encoding = "UTF-8"
    var autoVacuum = 0
    var key: TestKey?

    var isEncrypted: Bool { key != nil }

    var testDescription: String {
        "\(isEncrypted ? "encrypted, " : "")\(pageSize), \(encoding), auto_vacuum \(autoVacuum)"
    }

    static let all: [StructureSample] = [
        .init(pageSize: 512),
        .init(pageSize: 512, encoding: "UTF-16le", autoVacuum: 1),
        .init(pageSize: 1024),
        .init(pageSize: 1024, encoding: "UTF-16be", autoVacuum: 2),
        .init(pageSize: 4096),
        .init(pageSize: 65536, autoVacuum: 1),
        .init(pageSize: 1024, key: try? TestKey.raw()),
        .init(pageSize: 4096, autoVacuum: 1, key: try? TestKey.raw()),
    ]

    static let tables = ["t", "w", "wide", "gone", "empty"]

    private var cipher: CipherSettings? { try? CipherSettings(pageSize: pageSize) }

    func withDatabase<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value {
        let queue: DatabaseQueue
        if let key, let cipher {
            queue = try EncryptedDatabase.open(
                path,
                key: key.key,
                options: .init(createsFile: true, cipher: cipher)
            )
        } else {
            queue = try DatabaseQueue(path: path)
        }
        let result = try queue.inDatabase(body)
        try queue.close()
        return result
    }

    func make(_ path: String, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        try withDatabase(path) { db in
            if key == nil { try db.execute(sql: "PRAGMA page_size = \(pageSize)") }
            try db.execute(
                sql: """
                    PRAGMA encoding = '\(encoding)';
                    PRAGMA auto_vacuum = \(autoVacuum);
                    BEGIN;
                    CREATE TABLE t(id INTEGER PRIMARY KEY, a, b TEXT, c REAL, d BLOB);
                    CREATE INDEX t_a ON t(a);
                    CREATE INDEX t_ba ON t(b DESC, a) WHERE a IS NOT NULL;
                    CREATE TABLE w(k TEXT, n INTEGER, v, PRIMARY KEY(k, n)) WITHOUT ROWID;
                    CREATE TABLE wide(\((1...300).map { "c\($0)" }.joined(separator: ", ")));
                    CREATE TABLE gone(x);
                    CREATE TABLE empty(x UNIQUE);
                    CREATE VIEW v AS SELECT a FROM t;
                    """
            )
            var id = Int64.random(in: -50...0, using: &generator)
            for _ in 0..<Int.random(in: 150...350, using: &generator) {
                id += Int64.random(in: 1...1000, using: &generator)
                try db.execute(
                    sql: "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
                    arguments: [
                        id, value(&generator), text(60, &generator),
                        Double(Int.random(in: 0...9, using: &generator)) / 2,
                        blob(Bool.random(using: &generator) ? 20 : 3000, &generator),
                    ]
                )
                try db.execute(
                    sql: "INSERT OR IGNORE INTO w VALUES (?, ?, ?)",
                    arguments: [text(300, &generator), id % 10, value(&generator)]
                )
                try db.execute(
                    sql: "INSERT INTO gone VALUES (?)",
                    arguments: [text(200, &generator)]
                )
            }
            try db.execute(
                sql: """
                    INSERT INTO t VALUES (1, 'one', '1', 1, x'01'), (2, 'two', '2', 2, x'02')
                        ON CONFLICT DO NOTHING;
                    INSERT INTO wide(c1, c150, c300) VALUES (1, 'middle', x'ff'), (2, 3, 4);
                    INSERT INTO t VALUES (9223372036854775800, 1, 2, 3, zeroblob(200000));
                    DELETE FROM t WHERE id % 7 = 3;
                    DELETE FROM w WHERE n = 3;
                    DELETE FROM gone WHERE rowid % 20 > 0;
                    ALTER TABLE gone ADD COLUMN y DEFAULT 5;
                    COMMIT;
                    """
            )
        }
    }

    private func value(_ generator: inout SeededGenerator) -> DatabaseValue {
        switch Int.random(in: 0...5, using: &generator) {
        case 0: .null
        case 1: Int.random(in: -2...2, using: &generator).databaseValue
        case 2: Int64.random(in: .min ... .max, using: &generator).databaseValue
        case 3: Double.random(in: -1...1, using: &generator).databaseValue
        default: text(40, &generator).databaseValue
        }
    }

    private func text(_ most: Int, _ generator: inout SeededGenerator) -> String {
        let count = Int.random(in: 0...most, using: &generator)
        return String((0..<count).map { _ in "abcdeäö€".randomElement(using: &generator) ?? "a" })
    }

    private func blob(_ most: Int, _ generator: inout SeededGenerator) -> Data {
        Data(
            (0..<Int.random(in: 0...most, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
        )
    }

    // MARK: - Looking at It

    func check(
        _ path: String,
        _ keys: ContentKeys = ContentKeys(),
        reach: (Int) throws -> Void = { _ in }
    ) throws -> StructureCheck.Report {
        let connection = try CipherConnection(immutable: path)
        return try connection.withHandle { handle in
            let bytes = try SharedBytes(of: handle)
            let pages: DecryptedPages
            if let key, let cipher {
                pages = DecryptedPages(encrypted: bytes, key: key.key, cipher: cipher)
            } else {
                pages = try DecryptedPages(plaintext: bytes)
            }
            return try StructureCheck(keys: keys).run(pages, reach: reach)
        }
    }

    enum Outcome {
        case sound
        case damage([String])
        /// The text of the schema makes no sense.
        case schema
    }

    /// Asks SQLite about the pages without their encryption, so that its own words say what is wrong.
    ///
    /// - Parameter path: Of a file that is made for it.
    func quickCheck(_ image: [UInt8], at path: String) throws -> Outcome {
        try Data(image).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        do {
            let queue = try DatabaseQueue(path: path)
            let findings = try queue.inDatabase { db in
                try String.fetchAll(db, sql: "PRAGMA quick_check")
            }
            try queue.close()
            // Rules of the schema, which the walk doesn't look at.
            let structural = findings.filter {
                $0 != "ok" && DatabaseCopy.isDamage($0) && !$0.hasPrefix("row not in PRIMARY KEY")
                    && !$0.hasPrefix("non-unique entry")
            }
            return structural.isEmpty ? .sound : .damage(structural)
        } catch {
            let text = "\(error)"
            return text.contains("malformed database schema") || text.contains("no such collation")
                ? .schema : .damage([text])
        }
    }

    /// Every row, as SQL sees it.
    func rows(_ path: String) throws -> [String] {
        try withDatabase(path) { db in
            try Self.tables.flatMap { table in
                let rowid = table == "w" ? "" : "rowid, "
                return try Row.fetchAll(db, sql: "SELECT \(rowid)* FROM \(table) NOT INDEXED")
                    .map { "\($0.databaseValues)" }
            }
        }
    }

    // MARK: - Pages

    /// The pages of a file, decrypted.
    func decrypted(_ stored: [UInt8]) throws -> [UInt8] {
        guard let key, let cipher else { return stored }
        let decryption = try PageCipher(key: key.key, cipher: cipher)
        return try (0..<stored.count / pageSize).flatMap { index in
            let page = Array(stored[index * pageSize..<(index + 1) * pageSize])
            return try #require(decryption.decrypt(page, number: index + 1))
        }
    }

    /// The file with other pages, encrypted and authenticated again.
    func encrypted(_ changed: [UInt8], _ image: [UInt8], _ stored: [UInt8]) throws -> [UInt8] {
        guard let key, let cipher else { return changed }
        let salt = Array(stored[..<16])
        let encryption = try PageCipher(key: key.key, cipher: cipher, isEncrypting: true)
        let authentication = try #require(
            try PageAuthentication(key: key.key, salt: salt, cipher: cipher)
        )
        var result = stored
        for start in stride(from: 0, to: stored.count, by: pageSize) {
            let range = start..<start + pageSize
            guard changed[range] != image[range] else { continue }
            result.replaceSubrange(range, with: changed[range])
            if start == 0 { result.replaceSubrange(0..<16, with: salt) }
            let isDone = result.withUnsafeMutableBytes { bytes in
                let page = UnsafeMutableRawBufferPointer(rebasing: bytes[range])
                return encryption.encrypt(page, number: start / pageSize + 1)
                    && authentication.authenticate(page, number: start / pageSize + 1)
            }
            #expect(isDone)
        }
        return result
    }
}

extension StructureCheck.Report {
    fileprivate func content(_ name: String) -> TreeContent? {
        objects.first { $0.name == name }.flatMap { contents[$0.root] }
    }
}
