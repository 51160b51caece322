import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitKeys
import MigrationKitPages
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// Files with one fault, most of them authentic: nothing is called whole that another engine can't read.
///
/// `TESTS_SAMPLES=400` tries 10,000.
@Suite struct MutantTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private static let store = SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: 0)
    private static let sql = """
        CREATE VIRTUAL TABLE places USING rtree (id, x1, x2);
        INSERT INTO places SELECT id, id, id + 1 FROM note;
        CREATE TABLE spare (a);
        WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 60)
        INSERT INTO spare SELECT randomblob(800) FROM c;
        DROP TABLE spare;
        """

    @Test func mutantsAreNeverCalledWhole() throws {
        for autoVacuum in [0, 1] {
            try tryMutants(
                SmallStore(compatibility: 4, encoding: "UTF-8", autoVacuum: autoVacuum),
                count: Samples.count(autoVacuum == 0 ? 20 : 5)
            )
        }
    }

    private func tryMutants(_ store: SmallStore, count: Int) throws {
        let path = folder.database
        try? FileManager.default.removeItem(atPath: path)
        try store.make(path, key: key)
        let cipher = try #require(try store.cipher)
        _ = try SQLCipherShell.run(
            path,
            key: key.spelling,
            "PRAGMA cipher_page_size = 1024;\n\(Self.sql)"
        )
        let pages = try StoredPages(folder.databaseData(), key: key.key, cipher: cipher)
        let whole = try Judgement(of: path, key)
        try #require(whole.isSound && whole.rowCount > 300, "\(whole)")
        var figures = Figures()
        for number in 0..<count {
            let seed = SeededGenerator.seed &+ UInt64(number)
            var generator = SeededGenerator(seed: seed)
            let (data, what) = try Mutation.random(of: pages, &generator)
            let place = "\(what), auto_vacuum \(store.autoVacuum), seed \(seed)"
            try folder.write("notes.db", data)
            try check(place, whole, cipher, &figures)
        }
        print("auto_vacuum \(store.autoVacuum): \(figures)")
    }

    private struct Figures {
        var (mutants, verified, fullyVerified, complete, partly, refused) = (0, 0, 0, 0, 0, 0)
    }

    private func check(
        _ place: String,
        _ whole: Judgement,
        _ cipher: CipherSettings,
        _ figures: inout Figures
    ) throws {
        let path = folder.database
        let mutant = try Judgement(of: path, key)
        // An authentic page with the sound content of another one is what a program may write: what the
        // other engine calls sound is another content, and nobody can tell.
        let isReadable =
            mutant.names != whole.names || mutant.rowCount >= whole.rowCount || mutant.isSound
        figures.mutants += 1

        let form = DatabaseForm.encrypted(key.key, cipher: cipher)
        if Self.isVerified(path, key, cipher) {
            figures.verified += 1
            #expect(isReadable && mutant.quickCheck == ["ok"], "verify: \(place): \(mutant)")
        }
        if let checks = try? DatabaseVerification(path, form: form).run(),
            checks.allSatisfy(\.ok)
        {
            figures.fullyVerified += 1
            #expect(isReadable && mutant.isSound, "verify --full: \(place): \(mutant)")
        }

        let output = folder.path("new.db")
        defer { try? FileManager.default.removeItem(atPath: output) }
        guard let report = try? DatabaseSalvage(path, to: output, form: form).run() else {
            figures.refused += 1
            return
        }
        guard report.isComplete else {
            figures.partly += 1
            return
        }
        figures.complete += 1
        let salvaged = try Judgement(of: output, key)
        // A row that breaks a CHECK is recovered as it is.
        let broken = mutant.findings.filter { $0.hasPrefix("CHECK constraint failed in ") }
        #expect(salvaged.isSound(besides: broken), "salvage: \(place): \(salvaged.findings)")
        for (table, rows) in mutant.rows {
            let missing = rows.subtracting(salvaged.rows[table] ?? [])
            #expect(missing.isEmpty, "salvage: \(place): \(table) lacks \(missing.count) rows")
        }
        #expect(
            isReadable || salvaged.rowCount >= whole.rowCount,
            "salvage: \(place): \(salvaged.rowCount) of \(whole.rowCount) rows"
        )
    }

    /// What `verify` does without `--full`.
    private static func isVerified(
        _ path: String,
        _ key: TestKey,
        _ cipher: CipherSettings
    ) -> Bool {
        var options = EncryptedDatabase.Options(cipher: cipher)
        options.purpose = .read
        do {
            let writer = try EncryptedDatabase.open(path, key: key.key, options: options)
            let checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: writer)
            try writer.close()
            return checks.allSatisfy(\.ok)
        } catch {
            return false
        }
    }
}

/// What another engine, that of the `sqlcipher` shell, says of a file.
private struct Judgement: CustomStringConvertible {
    /// The rows that it reads, by table.
    private(set) var rows: [String: Set<String>] = [:]
    private(set) var rowCount = 0
    /// The tables that it sees.
    private(set) var names: Set<String> = []
    private(set) var quickCheck: [String] = []
    private(set) var findings: [String] = []
    private(set) var errors = ""

    var isSound: Bool { isSound(besides: []) }

    func isSound(besides known: [String]) -> Bool {
        !findings.isEmpty && !quickCheck.isEmpty && errors.isEmpty
            && Set(findings + quickCheck).isSubset(of: known + ["ok"])
    }

    var description: String { "\(rowCount) rows, \(quickCheck), \(findings), \(errors)" }

    /// Without what SQLite computes from other columns, and `salvage` anew.
    private static let tables = [
        "note": "id, body, data FROM note NOT INDEXED", "pair": "* FROM pair NOT INDEXED",
        "deep": "* FROM deep NOT INDEXED", "log": "rowid, * FROM log NOT INDEXED",
        "places": "id, x1, x2 FROM places", "own_fts": "rowid, text FROM own_fts",
    ]

    init(of path: String, _ key: TestKey) throws {
        try OtherProgram.require("the sqlcipher shell")
        let queries = Self.tables.sorted { $0.key < $1.key }.map { name, query in
            "SELECT '@\(name)';\nSELECT \(query);"
        }
        let input = """
            .output /dev/null
            PRAGMA key = "\(key.spelling)";
            PRAGMA cipher_page_size = 1024;
            .output stdout
            .mode quote
            \(queries.joined(separator: "\n"))
            SELECT '@names';
            SELECT name FROM sqlite_schema WHERE type = 'table';
            SELECT '@quick';
            .mode list
            PRAGMA quick_check;
            .mode quote
            SELECT '@integrity';
            .mode list
            PRAGMA integrity_check;

            """
        let result = try TestSupport.run("sqlcipher", ["-batch", path], input: input.utf8)
        errors = result.stderr
        var section = ""
        for line in result.stdout.split(separator: "\n").map(String.init) {
            if line.hasPrefix("'@") {
                section = String(line.dropFirst(2).dropLast())
                continue
            }
            switch section {
            case "names": names.insert(line)
            case "quick": quickCheck.append(line)
            case "integrity": findings.append(line)
            default:
                rowCount += 1
                rows[section, default: []].insert(line)
            }
        }
    }
}

/// One fault in a file.
private enum Mutation: CaseIterable {
    /// Damage that the HMAC shows: flipped bits, overwritten bytes, an end that is missing.
    case bit, overwritten, cut
    /// Wrong content in authentic pages.
    case page, header, freelist, rtreeNode

    static func random(
        of pages: StoredPages,
        _ generator: inout SeededGenerator
    ) throws -> (Data, String) {
        var kind = allCases.randomElement(using: &generator) ?? .page
        // Half of them are of the kinds that SQLite's own structures can have.
        if Bool.random(using: &generator) { kind = .page }
        // With auto-vacuum, no page may be free.
        if kind == .freelist, pages.image.word(32) == 0 { kind = .header }
        let size = pages.cipher.pageSize
        func random(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        var data = Data(pages.stored)
        var image = pages.image
        switch kind {
        case .bit:
            let offset = random(0..<data.count)
            data[offset] ^= 1 << UInt8(random(0..<8))
            return (data, "a bit in byte \(offset)")
        case .overwritten:
            let offset = random(0..<data.count - 8)
            for index in 0..<8 { data[offset + index] = UInt8(random(0..<256)) }
            return (data, "eight bytes at \(offset)")
        case .cut:
            let count = random(1..<data.count)
            return (data.prefix(count), "cut to \(count) bytes")
        case .page:
            let damage = PageDamage.allCases.randomElement(using: &generator) ?? .bits
            let text = damage.apply(to: &image, size, &generator)
            return (try pages.with(image), text)
        case .header:
            let offset = random(16..<100)
            image[offset] = UInt8(random(0..<256))
            return (try pages.with(image), "byte \(offset) of the header is \(image[offset])")
        case .freelist:
            // Another page in the place of a free one: in the header, as the next trunk, or in it.
            let trunk = Int(image.word(32))
            let leaves = Int(image.word((trunk - 1) * size + 4))
            let offsets =
                [32, (trunk - 1) * size]
                + (0..<max(1, leaves)).map { (trunk - 1) * size + 8 + 4 * $0 }
            let offset = offsets[random(0..<offsets.count)]
            let page = random(2..<pages.pageCount + 1)
            image.put(word: page, at: offset)
            return (try pages.with(image), "the free list at \(offset) names page \(page)")
        case .rtreeNode:
            // Nodes are among the few rows with so many zeros. A leaf of the table of nodes has them.
            let candidates = (1..<pages.pageCount).filter {
                image[$0 * size] == TreeKind.leafTable.rawValue
            }
            let start = candidates[random(0..<candidates.count)] * size
            let (offset, count) = (start + random(size / 2..<size - 100), random(1..<40))
            for index in 0..<count { image[offset + index] = 0 }
            return (try pages.with(image), "\(count) zeros at \(offset)")
        }
    }
}
