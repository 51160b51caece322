import Foundation
import TestSupport
import Testing

/// Leaves a database as a program that was killed leaves it.
enum Crash {
    /// A row, 'from the log', is in the write-ahead log only.
    static func leaveLog(of path: String, key: TestKey) throws {
        try kill(
            after: [
                "PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0",
                "INSERT INTO t VALUES ('from the log')",
            ],
            of: path,
            key: key
        )
    }

    /// The journal of a transaction that began with an empty file: undoing it empties the file.
    /// <https://www.sqlite.org/fileformat.html#the_rollback_journal>
    static var journalOfNothing: Data {
        var header: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        // No pages, a nonce, no pages before the transaction, the sizes of a sector and of a page.
        for value in [0, 0x1234_5678, 0, 512, 4096] as [UInt32] {
            header += withUnsafeBytes(of: value.bigEndian) { Array($0) }
        }
        return Data(header) + Data(count: 512 - header.count)
    }

    /// The end of the journal of a transaction over several databases: the page of the lock bytes, the name of
    /// the super-journal, its length, its checksum, and the mark with which the journal begins.
    /// <https://www.sqlite.org/atomiccommit.html#_super_journal_file>
    static func journalEnd(naming name: [UInt8]) -> Data {
        let numbers = [
            0x4000_0000 / 4096 + 1, UInt32(name.count), name.reduce(0) { $0 + UInt32($1) },
        ].map { withUnsafeBytes(of: $0.bigEndian) { Array($0) } }
        return Data(numbers[0] + name + numbers[1] + numbers[2]) + journalOfNothing.prefix(8)
    }

    /// A write-ahead log with one transaction, which has written the first page.
    /// <https://www.sqlite.org/fileformat.html#the_write_ahead_log>
    static func log(ofFirstPage page: [UInt8], pageCount: Int) -> Data {
        var (log, sums) = ([UInt8](), (UInt32(0), UInt32(0)))
        func bytes(_ words: [UInt32]) -> [UInt8] {
            words.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
        }
        func add(_ bytes: [UInt8]) {
            for index in stride(from: 0, to: bytes.count, by: 8) {
                let words = [index, index + 4].map { start in
                    bytes[start..<(start + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                }
                sums.0 = sums.0 &+ words[0] &+ sums.1
                sums.1 = sums.1 &+ words[1] &+ sums.0
            }
        }
        // The mark of sums in this byte order, the version, the size of a page, the number of the
        // checkpoint, and two salts.
        log = bytes([0x377f_0683, 3_007_000, UInt32(page.count), 0, 1, 2])
        add(log)
        log += bytes([sums.0, sums.1])
        let frame = bytes([1, UInt32(pageCount), 1, 2])
        add(Array(frame.prefix(8)))
        add(page)
        return Data(log + frame + bytes([sums.0, sums.1]) + page)
    }

    /// A journal holds pages that an unfinished transaction has already overwritten.
    static func leaveJournal(of path: String, key: TestKey) throws {
        try kill(
            after: [
                "PRAGMA cache_size = 2", "BEGIN", "UPDATE t SET a = 'never committed'",
                "CREATE TABLE filler(a)",
                """
                WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)
                INSERT INTO filler SELECT randomblob(3500) FROM c
                """,
            ],
            of: path,
            key: key
        )
    }

    static func kill(after statements: [String], of path: String, key: TestKey) throws {
        let program =
            Python.connect + """
                path, key, statements = json.load(sys.stdin)
                connection = connect(path, key, isolation_level=None)
                for statement in statements:
                    connection.execute(statement).fetchall()
                os.kill(os.getpid(), 9)
                """
        let result = try Python.run(program, input: [path, key.spelling, statements])
        try #require(result.signal == SIGKILL, "\(result)")
    }
}
