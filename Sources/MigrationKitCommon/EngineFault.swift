/// A fault of some versions of SQLite or SQLCipher.
public struct EngineFault: Equatable, Sendable, Encodable {
    /// Its name, which doesn't change: the number of a CVE, or a word.
    public let name: String

    /// What can happen, in one line.
    public let effect: String

    /// What is done about it here, or what can be done, in one line.
    public let remedy: String

    /// The first version without it, such as `SQLite 3.51.3`; `nil` if there is none yet.
    public let fixedIn: String?

    /// The faults of an engine.
    ///
    /// - Parameters:
    ///   - sqlite: The version of SQLite, such as `3.46.1`.
    ///   - cipher: The version of SQLCipher, such as `4.6.1 community`; empty if it is plain SQLite.
    package static func known(sqlite: String, cipher: String) -> [EngineFault] {
        let (sqlite, cipher) = (EngineVersion(sqlite), EngineVersion(cipher))
        return table.filter { $0.affects(sqlite, cipher) }.map(\.fault)
    }

    /// The one table of faults. What is done about each is where it says.
    private static let table:
        [(fault: EngineFault, affects: @Sendable (EngineVersion, EngineVersion) -> Bool)] = [
            (
                // <https://www.sqlite.org/wal.html>, "the WAL-reset bug"
                EngineFault(
                    name: "wal-reset",
                    effect: """
                        in WAL mode, a checkpoint may lose a commit that another process makes at the same \
                        moment
                        """,
                    remedy: """
                        checkpoints here hold the write lock; let no other program with this fault write \
                        at the same time
                        """,
                    fixedIn: "SQLite 3.51.3"
                ),
                { sqlite, _ in
                    ("3.7.0"..."3.51.2").contains(sqlite)
                        && !("3.44.6"..."3.44.99").contains(sqlite)
                        && !("3.50.7"..."3.50.99").contains(sqlite)
                }
            ),
            (
                // <https://www.sqlite.org/cves.html>
                EngineFault(
                    name: "CVE-2025-29087",
                    effect: "concat_ws() with a very long separator overwrites memory",
                    remedy: "the function is replaced by one that counts",
                    fixedIn: "SQLite 3.49.1"
                ),
                { sqlite, _ in ("3.44.0"..."3.49.0").contains(sqlite) }
            ),
            (
                EngineFault(
                    name: "CVE-2025-6965",
                    effect: "an aggregate over more than 32767 columns overwrites memory",
                    remedy: """
                        checks of migrations are limited to tables of 511 columns; a file with wider ones \
                        and views that name as many columns is refused
                        """,
                    fixedIn: "SQLite 3.50.2"
                ),
                { sqlite, _ in sqlite < "3.50.2" }
            ),
            (
                EngineFault(
                    name: "CVE-2026-11822",
                    effect: "a full-text index in a hostile file may overwrite memory",
                    remedy: "open no files of strangers",
                    fixedIn: "SQLCipher 4.17"
                ),
                { _, cipher in ("1.0.0"..."4.16.99").contains(cipher) }
            ),
            (
                EngineFault(
                    name: "zero-pages",
                    effect: """
                        after a page that isn't authentic, a connection reads zeros for others, too, mostly \
                        without an error
                        """,
                    remedy: "what reads a whole database asks for the cipher's status at the end",
                    fixedIn: nil
                ),
                { _, cipher in ("4.19.0"..."4.19.99").contains(cipher) }
            ),
        ]
}

/// Numbers such as 3.46.1; a word behind them doesn't count.
private struct EngineVersion: Comparable, ExpressibleByStringLiteral, Sendable {
    private let numbers: [Int]

    init(_ text: String) {
        numbers = text.prefix { $0 != " " }.split(separator: ".").map { Int($0) ?? 0 }
    }

    init(stringLiteral text: String) {
        self.init(text)
    }

    static func < (one: EngineVersion, other: EngineVersion) -> Bool {
        one.numbers.lexicographicallyPrecedes(other.numbers)
    }
}
