import Foundation
import GRDB
import MigrationKitKeys
import MigrationKit
import MigrationKitPages
import MigrationKitSQLCipher
import MigrationKitSchema
import TestSupport
import Testing

/// Random damage: a full verification finds something whenever SQLite's `integrity_check` does.
///
/// A failure names its seed; `TESTS_SEED` repeats it.
@Suite struct IndexCorruptionTests {
    static let seeds = [SeededGenerator.seed, SeededGenerator.seed &+ 1]

    /// 250 for each seed and form, a thousand in all.
    @Test(arguments: seeds, [false, true])
    func whatSQLiteFindsIsFound(seed: UInt64, isEncrypted: Bool) throws {
        var generator = SeededGenerator(seed: seed)
        let file = try PagedFile(isEncrypted: isEncrypted, &generator)
        var (known, onlyByIndexes, onlyOurs) = (0, 0, 0)
        for round in 0..<250 {
            let damage = try file.damage(using: &generator)
            guard let queue = try? file.open() else { continue }
            let ours = try Self.found(by: queue)
            let theirs = Self.isFoundBySQLite(queue)
            try queue.close()
            #expect(
                ours.structure || ours.indexes || !theirs,
                "seed \(seed), round \(round): \(damage)"
            )
            if theirs { known += 1 }
            if !ours.structure, ours.indexes { onlyByIndexes += 1 }
            if !theirs, ours.structure || ours.indexes { onlyOurs += 1 }
        }
        // The damage is what it should be: SQLite finds it, and often only in the indexes.
        #expect(known > 100)
        #expect(onlyByIndexes > 40)
        print("\(known) known to SQLite, \(onlyByIndexes) in indexes, \(onlyOurs) only ours")
    }

    /// A rowid whose length is wrong in its entry. It is the last value, and SQLite counts its bytes
    /// from the end of the entry: with zeros before it, a longer rowid is the same number. But
    /// nothing finds the row any more.
    @Test(arguments: ["c REAL, UNIQUE (c)", "c REAL NOT NULL PRIMARY KEY"])
    func rowIDOfAnotherLengthIsFound(columns: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("damaged.db")
        let queue = try DatabaseQueue(path: path)
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (\(columns));
                    WITH RECURSIVE n (x) AS (SELECT 5 UNION ALL SELECT x + 1 FROM n LIMIT 20)
                    INSERT INTO t (rowid, c) SELECT x, x + 0.5 FROM n;
                    """
            )
        }
        try queue.close()
        // The size of the header, the types of a REAL and of an integer of one byte, 7.5 and 7.
        let number = withUnsafeBytes(of: 7.5.bitPattern.bigEndian, Array.init)
        var bytes = [UInt8](try folder.data("damaged.db"))
        let entry = try #require(
            bytes.indices.first { bytes[$0...].starts(with: [3, 7, 1] + number + [7]) }
        )
        bytes[entry + 2] = 3
        try folder.write("damaged.db", bytes)

        let damaged = try DatabaseQueue(path: path)
        #expect(Self.isFoundBySQLite(damaged))
        let found = try Self.found(by: damaged)
        #expect(!found.structure)
        #expect(found.indexes)
    }

    private static func found(by queue: DatabaseQueue) throws -> (structure: Bool, indexes: Bool) {
        let checks: [VerificationCheck]
        do {
            checks = try GRDBMigrationRunner(steps: []).verificationChecks(in: queue, isFull: true)
        } catch is DatabaseError {
            return (true, false)
        }
        // Damage of a schema's text may be the name of a function that doesn't exist.
        func fails(_ name: String) -> Bool {
            checks.contains {
                $0.name == name && (!$0.ok || $0.note?.contains("not checked") == true)
            }
        }
        return (fails("quick_check"), fails("integrity_check"))
    }

    private static func isFoundBySQLite(_ queue: DatabaseQueue) -> Bool {
        let lines = try? queue.read { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
        return lines != ["ok"]
    }
}

/// A small database, plaintext or encrypted, whose pages can be changed so that their HMACs are
/// right.
private final class PagedFile {
    private let folder: TemporaryFolder
    private let key: DatabaseKey?
    private let cipher: CipherSettings
    private let sound: [[UInt8]]
    private let bytes: [UInt8]
    private let pageSize: Int
    private let usable: Int

    private static let schema = """
        CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b INT, c REAL, d);
        CREATE INDEX t_a ON t (a);
        CREATE INDEX t_b ON t (b DESC, a COLLATE NOCASE);
        CREATE UNIQUE INDEX t_c ON t (c);
        CREATE INDEX t_part ON t (a, d) WHERE b > 20;
        CREATE INDEX t_expr ON t (lower(a), b + 1);
        CREATE TABLE w (k TEXT, n INT, v BLOB, PRIMARY KEY (n DESC, k)) WITHOUT ROWID;
        CREATE INDEX w_v ON w (v);
        CREATE UNIQUE INDEX w_k ON w (k COLLATE RTRIM, v);
        """

    init(isEncrypted: Bool, _ generator: inout SeededGenerator) throws {
        folder = try TemporaryFolder()
        let random = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        key =
            isEncrypted
            ? try .rawKey(bytes: random.withUnsafeBytes { Secret(copying: $0) }) : nil
        pageSize = isEncrypted ? 1024 : 512
        let cipher = try CipherSettings(pageSize: 1024)
        self.cipher = cipher
        let path = folder.path("sound.db")
        let queue: DatabaseQueue
        if let key {
            queue = try EncryptedDatabase.open(
                path,
                key: key,
                options: .init(createsFile: true, cipher: cipher)
            )
        } else {
            var configuration = Configuration()
            let size = pageSize
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA page_size = \(size)")
            }
            queue = try DatabaseQueue(path: path, configuration: configuration)
        }
        try queue.write { db in
            try db.execute(sql: Self.schema)
            for row in 0..<90 {
                let text = ["'a \(row % 7)'", "'Ab' || \(row)", "NULL", "'zettel'", "x'00ff'"]
                try db.execute(
                    sql: """
                        INSERT INTO t (a, b, c, d) VALUES (
                            \(text.randomElement(using: &generator) ?? "1"), \(row % 40),
                            \(row) / 4.0, \(row * 1000)
                        );
                        INSERT INTO w VALUES ('key \(row)', \(row % 9), hex(\(row)));
                        """
                )
            }
        }
        try queue.close()
        bytes = [UInt8](try folder.data("sound.db"))
        usable = isEncrypted ? pageSize - cipher.reservedCount : pageSize
        var sound: [[UInt8]] = []
        let decryption = try key.map { try PageCipher(key: $0, cipher: cipher) }
        for start in stride(from: 0, to: bytes.count, by: pageSize) {
            let page = Array(bytes[start..<start + pageSize])
            let number = sound.count + 1
            guard let decryption else {
                sound.append(page)
                continue
            }
            sound.append(try #require(decryption.decrypt(page, number: number)))
        }
        self.sound = sound
    }

    func open() throws -> DatabaseQueue {
        let path = folder.path("damaged.db")
        guard let key else { return try DatabaseQueue(path: path) }
        return try EncryptedDatabase.open(path, key: key, options: .init(cipher: cipher))
    }

    /// Writes a file with some damage, and returns what it is.
    func damage(using generator: inout SeededGenerator) throws -> String {
        var pages = sound
        var text = ""
        repeat { text = change(&pages, &generator) } while pages == sound
        var file = bytes
        let encryption = try key.map { try PageCipher(key: $0, cipher: cipher, isEncrypting: true) }
        let authentication = try key.flatMap {
            try PageAuthentication(key: $0, salt: Array(bytes[..<16]), cipher: cipher)
        }
        for number in 1...pages.count where pages[number - 1] != sound[number - 1] {
            var page = pages[number - 1]
            if let encryption, let authentication {
                if number == 1 { page.replaceSubrange(0..<16, with: bytes[..<16]) }
                try page.withUnsafeMutableBytes {
                    try #require(encryption.encrypt($0, number: number))
                    try #require(authentication.authenticate($0, number: number))
                }
            }
            file.replaceSubrange((number - 1) * pageSize..<number * pageSize, with: page)
        }
        try folder.write("damaged.db", file)
        return text
    }

    // MARK: - Damage

    /// <https://www.sqlite.org/fileformat.html#b_tree_pages>
    private func change(_ pages: inout [[UInt8]], _ generator: inout SeededGenerator) -> String {
        let leaves = pages.indices.filter { pages[$0][0] == 0x0a }
        let trees = pages.indices.filter { [0x02, 0x0a].contains(pages[$0][0]) }
        let leaf = leaves.randomElement(using: &generator) ?? 0
        func byte(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
        /// The place of a cell's pointer on a page.
        func pointer(_ page: Int) -> Int {
            let start = pages[page][0] == 0x02 ? 12 : 8
            return start + 2 * byte(0..<max(1, count(pages[page])))
        }
        switch byte(0..<10) {
        case 0:
            let (page, place, bit) = (byte(0..<pages.count), byte(0..<usable), byte(0..<8))
            pages[page][place] ^= 1 << UInt8(bit)
            return "bit \(bit) of byte \(place) of page \(page + 1)"
        case 1:
            let (place, bit) = (byte(8..<usable), byte(0..<8))
            pages[leaf][place] ^= 1 << UInt8(bit)
            return "bit \(bit) of byte \(place) of the leaf \(leaf + 1)"
        case 2:
            let page = trees.randomElement(using: &generator) ?? 0
            let (one, other) = (pointer(page), pointer(page))
            for place in 0..<2 { pages[page].swapAt(one + place, other + place) }
            return "cells \(one) and \(other) of page \(page + 1) swapped"
        case 3:
            let (one, other) = (pointer(leaf), pointer(leaf))
            for place in 0..<2 { pages[leaf][one + place] = pages[leaf][other + place] }
            return "cell \(other) of the leaf \(leaf + 1) twice"
        case 4:
            let gone = pointer(leaf)
            let end = 8 + 2 * count(pages[leaf])
            pages[leaf].replaceSubrange(gone..<end, with: pages[leaf][(gone + 2)..<end] + [0, 0])
            pages[leaf][4] = UInt8(max(0, count(sound[leaf]) - 1))
            return "cell \(gone) of the leaf \(leaf + 1) lost"
        case 5:
            let other = leaves.randomElement(using: &generator) ?? 0
            pages.swapAt(leaf, other)
            return "leaves \(leaf + 1) and \(other + 1) swapped"
        case 6, 7:
            let (one, other) = (cell(pages[leaf], pointer(leaf)), cell(pages[leaf], pointer(leaf)))
            guard one.count == other.count else { return "" }
            pages[leaf].replaceSubrange(one, with: pages[leaf][other])
            return "entry \(other) of the leaf \(leaf + 1) instead of \(one)"
        case 8:
            let entry = cell(pages[leaf], pointer(leaf))
            guard entry.count > 4 else { return "" }
            let place = entry.upperBound - 1 - byte(0..<3)
            pages[leaf][place] = pages[leaf][place] &+ UInt8(byte(1..<4))
            return "byte \(place) in the entry \(entry) of the leaf \(leaf + 1)"
        default:
            let (page, place) = (byte(0..<pages.count), byte(0..<usable - 4))
            for offset in 0..<byte(1..<5) { pages[page][place + offset] = UInt8(byte(0..<256)) }
            return "bytes from \(place) of page \(page + 1)"
        }
    }

    private func count(_ page: [UInt8]) -> Int { Int(page[3]) << 8 | Int(page[4]) }

    /// The bytes of a short cell of a leaf.
    private func cell(_ page: [UInt8], _ pointer: Int) -> Range<Int> {
        let start = Int(page[pointer]) << 8 | Int(page[pointer + 1])
        guard start >= 8, start < usable else { return 0..<0 }
        let end = start + 1 + Int(page[start])
        return page[start] < 0x80 && end <= usable ? start..<end : 0..<0
    }
}
