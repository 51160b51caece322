import Foundation
import TestSupport
import Testing

/// No room: a disk of the test's own that is full, or a limit on the size of files.
@Suite struct DiskFullTests {
    private let tool: Tool

    /// A store of half a megabyte, and a second migration that is yet to come.
    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.write(
            "0001_items",
            up: "CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);\n" + Self.insert(120)
        )
        #expect(try tool.onStore("migrate").status == 0)
    }

    /// Rows that fill a page each.
    private static func insert(_ count: Int) -> String {
        """
        INSERT INTO item (body)
        WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT \(count))
        SELECT hex(randomblob(1900)) FROM n;
        """
    }

    /// What the step's SQL leads to: where there comes to be no room.
    enum Place: CaseIterable {
        /// More than SQLite keeps in memory, so that the step itself writes to the file.
        case step
        /// All of it stays in memory until SQLite, while it verifies, needs the memory for the
        /// pages that it reads.
        case verification
        /// All of it stays in memory until the commit.
        case commit

        var sql: String {
            switch self {
            case .step: insert(2000)
            case .verification: insert(300) + "\nPRAGMA cache_size = 10;"
            case .commit: insert(300)
            }
        }

        /// What the progress on the terminal shows last.
        var progress: String { self == .step ? "applying 0002_more" : "verifying" }
    }

    /// What keeps the files from growing.
    enum Limit: CaseIterable {
        case fileSize, diskSize
    }

    @Test(
        arguments: [Place.step, .verification, .commit].flatMap { place in
            Limit.allCases.map { (place, $0) }
        },
        Journal.allCases
    )
    func storeIsAsBefore(_ where: (Place, Limit), _ journal: Journal) throws {
        let (place, limit) = `where`
        try tool.write("0002_more", up: place.sql)
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let (bytes, content) = (try tool.folder.data("store.db"), try self.content())

        for mode in [[], ["--all-or-nothing"]] {
            let shown = try runWithoutRoom(
                limit,
                kilobytes: place == .verification ? 700 : 1000,
                ["migrate"] + mode
            )
            let said = try #require(shown.stdout.components(separatedBy: "\r\u{1B}[2K").last)
            #expect(shown.status == 74, "\(shown)")
            #expect(
                said.hasPrefix("\u{1B}[31merror:\u{1B}[0m the migration 0002_more failed: "),
                "\(said)"
            )
            #expect(said.contains("rolled back: nothing has changed"), "\(said)")
            #expect(
                said.contains(limit == .diskSize ? "disk is full" : "disk I/O error"),
                "\(said)"
            )
            #expect(shown.stdout.contains("verifying") == (place != .step), "\(shown)")

            #expect(try tool.folder.names == ["migrations", "password", "store.db"])
            // A journal that is played back encrypts the pages anew; a step that wrote nothing to
            // the file has none.
            if place == .commit, journal == .writeAheadLog {
                #expect(try tool.folder.data("store.db") == bytes)
            }
            #expect(try tool.folder.data("store.db").count == bytes.count)
            #expect(try self.content() == content)
        }
        #expect(try tool.onStore("migrate").status == 0)
        #expect(try tool.shell("PRAGMA integrity_check;") == "ok")
    }

    /// More than temporary files may take in memory.
    @Test(arguments: Limit.allCases, [[], ["--all-or-nothing"]])
    func rowsThatAreSortedFindNoRoom(_ limit: Limit, _ mode: [String]) throws {
        try tool.write(
            "0002_sorted",
            up: """
                CREATE TABLE sorted AS
                WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 400000)
                SELECT x % 2 AS y FROM n GROUP BY hex(zeroblob(50)) || (x * 7919 % 400000) LIMIT 9;
                """
        )
        let content = try self.content()
        let shown = try runWithoutRoom(limit, kilobytes: 1000, ["migrate"] + mode)
        let said = try #require(shown.stdout.components(separatedBy: "\r\u{1B}[2K").last)
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(shown.status == 74, "\(shown)")
        #expect(
            said.hasPrefix("\u{1B}[31merror:\u{1B}[0m the migration 0002_sorted failed: "),
            "\(said)"
        )
        #expect(said.contains("rolled back: nothing has changed"), "\(said)")
        #expect(said.contains(limit == .diskSize ? "disk is full" : "disk I/O error"), "\(said)")
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
        #expect(try self.content() == content)
        #expect(try tool.onStore("migrate").status == 0)
    }

    @Test(arguments: Limit.allCases)
    func backupThatFindsNoRoomIsTakenBack(_ limit: Limit) throws {
        try tool.write("0002_more", up: "CREATE TABLE tag (id INTEGER);")
        let before = try tool.folder.data("store.db")
        let shown = try runWithoutRoom(
            limit,
            kilobytes: limit == .fileSize ? 300 : 800,
            ["migrate", "--backup", tool.folder.path("backup.db")]
        )
        #expect(shown.status == 74, "\(shown)")
        #expect(shown.stdout.contains("backup.db"), "\(shown)")
        #expect(try tool.folder.names == ["migrations", "password", "store.db"])
        #expect(try tool.folder.data("store.db") == before)
    }

    /// What finds no room in a downgrade: the copy, or what the rollback adds, while it is tried or at
    /// its commit. A copy that was made is the whole store.
    @Test(
        arguments: [(300, 800, 1), (1000, 1200, 2000), (1000, 1800, 300)].flatMap { room in
            Limit.allCases.map { (room, $0) }
        },
        Journal.allCases
    )
    func downgradeThatFindsNoRoomLeavesTheNewerStore(
        _ where: ((fileSize: Int, diskSize: Int, rows: Int), Limit),
        _ journal: Journal
    ) throws {
        let (room, limit) = `where`
        try tool.write(
            "0002_tags",
            up: "CREATE TABLE tag (id INTEGER);",
            down: Self.insert(room.rows) + "\nDROP TABLE tag;"
        )
        #expect(try tool.onStore("migrate").status == 0)
        unlink(tool.migrations + "/0002_tags.sql")
        _ = try tool.shell("PRAGMA journal_mode = \(journal.rawValue);")
        let (size, content) = (try tool.folder.data("store.db").count, try self.content())

        let shown = try runWithoutRoom(
            limit,
            kilobytes: limit == .fileSize ? room.fileSize : room.diskSize,
            ["downgrade", "--yes"]
        )
        #expect(shown.status == 74, "\(shown)")
        let said = shown.stdout.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(said.contains("nothing has changed") || room.rows == 1, "\(shown)")
        let names = try tool.folder.names
        let copy = names.first { $0.contains("before-downgrade") }
        #expect(names.filter { $0 != copy } == ["migrations", "password", "store.db"])
        #expect(copy == nil || room.rows == 300)
        #expect(try copy.map { try self.content(of: tool.folder.path($0)) } ?? content == content)
        #expect(try tool.folder.data("store.db").count == size)
        #expect(try self.content() == content)
        let next = try tool.onStore("downgrade", "--yes")
        #expect(next.status == 0, "\(next)")
        #expect(try tool.shell("PRAGMA integrity_check;") == "ok")
    }

    @Test func newStoreThatFindsNoRoomIsNoStore() throws {
        try FileManager.default.removeItem(atPath: tool.database)
        let shown = try runWithoutRoom(.fileSize, kilobytes: 0, ["migrate"])
        #expect(shown.status == 74, "\(shown)")
        #expect(try tool.folder.names == ["migrations", "password"])
    }

    // MARK: - Without Room

    /// Everything in the store, as SQL.
    private func content(of path: String? = nil) throws -> String {
        try SQLCipherShell.run(
            path ?? tool.database,
            key: "x'\(tool.password)'",
            ".dump\nPRAGMA integrity_check;"
        )
    }

    /// Runs a command of the tool on the store, with a terminal to show its progress on.
    private func runWithoutRoom(
        _ limit: Limit,
        kilobytes: Int,
        _ arguments: [String]
    ) throws -> ProcessResult {
        let command =
            [try builtExecutable("migrationkit-cli")] + arguments + tool.opening
            + ["--migrations", tool.migrations]
        let setUp =
            switch limit {
            case .fileSize: #"trap '' XFSZ; ulimit -f "$1"; shift 2; exec "$@""#
            // A file system that nobody else sees, and that is gone with the last process in it.
            // The store goes into it and comes out again.
            case .diskSize:
                #"""
                exec unshare --mount --map-root-user bash -c '
                    size=$1 folder=$2 copy=$(mktemp -d); shift 2
                    trap "rm -rf $copy" EXIT
                    cp -a "$folder/." $copy && mount -t tmpfs -o size=${size}k,mode=700 none "$folder" &&
                        cp -a $copy/. "$folder" || exit 99
                    "$@"; status=$?
                    find $copy -mindepth 1 -delete && cp -a "$folder/." $copy && umount "$folder" &&
                        find "$folder" -mindepth 1 -delete && cp -a $copy/. "$folder" || exit 98
                    exit $status' bash "$@"
                """#
            }
        return try TerminalProcess(
            "bash",
            ["-c", setUp, "bash", "\(kilobytes)", tool.folder.path] + command,
            environment: tool.environment.merging(["TERM": "xterm"]) { $1 }
        ).finish()
    }
}
