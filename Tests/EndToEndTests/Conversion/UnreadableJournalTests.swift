import Foundation
import TestSupport
import Testing

/// A journal beside the database that the system doesn't give: it is never taken for one that isn't
/// there, so that nothing is made without what is in it.
@Suite struct UnreadableJournalTests {
    private let tool: Tool
    private var output: String { tool.folder.path("new.db") }

    /// What a killed program has left beside the database.
    enum Journal: String, CaseIterable {
        /// With the commits of a row each.
        case log = "-wal"
        /// With what undoes a change that was never committed.
        case rollback = "-journal"
    }

    /// How the system doesn't give it.
    enum Refusal: CaseIterable {
        case permission, readError, tooManyFiles
    }

    private static let commands = ["backup", "restore", "inspect", "verify", "salvage", "migrate"]

    init() throws {
        tool = try Tool(isRawKey: true)
        try tool.writeItems()
    }

    private func leave(_ journal: Journal) throws {
        let statements =
            switch journal {
            case .log:
                [
                    "CREATE TABLE t(a)", "PRAGMA journal_mode = WAL",
                    "PRAGMA wal_autocheckpoint = 0", "INSERT INTO t VALUES ('from the log')",
                ]
            case .rollback:
                [
                    "CREATE TABLE t(a)", "INSERT INTO t VALUES ('zettel')",
                    "PRAGMA cache_size = 2", "BEGIN", "UPDATE t SET a = 'never committed'",
                    "CREATE TABLE filler(a)",
                    """
                    WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)
                    INSERT INTO filler SELECT randomblob(3500) FROM c
                    """,
                ]
            }
        let program =
            Python.connect + """
                path, key, statements = json.load(sys.stdin)
                connection = connect(path, key, isolation_level=None)
                for statement in statements:
                    connection.execute(statement).fetchall()
                os.kill(os.getpid(), 9)
                """
        let result = try Python.run(
            program,
            input: [tool.database, "x'\(tool.password)'", statements]
        )
        try #require(result.signal == SIGKILL, "\(result)")
    }

    private func arguments(_ command: String) -> [String] {
        let secret = ["--password-file", tool.folder.path("password"), "--raw-key", "--json"]
        return switch command {
        case "backup", "salvage": [command] + tool.opening + ["--json", "--output", output]
        case "restore": [command, "--db-path", output, "--from", tool.database] + secret
        case "verify": [command, "--full"] + tool.opening + ["--json"]
        case "migrate": [command] + tool.opening + ["--json", "--migrations", tool.migrations]
        default: [command] + tool.opening + ["--json"]
        }
    }

    private func run(
        _ arguments: [String],
        _ refusal: Refusal,
        of path: String
    ) throws -> ProcessResult {
        let inject =
            switch refusal {
            case .permission:
                ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
            case .readError:
                ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path]
                    + ["-e", "inject=pread64,read:error=EIO:when=1+"]
            case .tooManyFiles:
                ["strace", "-f", "-qq", "-o", "/dev/null", "-P", path]
                    + ["-e", "inject=openat:error=EMFILE:when=1+"]
            }
        if refusal == .permission { chmod(path, 0) }
        defer { if refusal == .permission { chmod(path, 0o600) } }
        let words = inject + [try builtExecutable("migrationkit-cli")] + arguments
        return try TestSupport.run(
            words[0],
            Array(words.dropFirst()),
            environment: tool.environment,
            newSession: true
        )
    }

    @Test(arguments: Journal.allCases, Refusal.allCases)
    func nothingIsDoneWithoutIt(_ journal: Journal, _ refusal: Refusal) throws {
        try leave(journal)
        let path = tool.database + journal.rawValue
        let before = try tool.folder.data("store.db" + journal.rawValue)
        for command in Self.commands {
            let result = try run(arguments(command), refusal, of: path)
            #expect(result.status == (refusal == .permission ? 77 : 74), "\(command): \(result)")
            #expect(result.stderr.contains("store.db\(journal.rawValue)"), "\(command): \(result)")
            #expect(access(output, F_OK) != 0, "\(command)")
            #expect(try tool.folder.data("store.db" + journal.rawValue) == before, "\(command)")
        }
        let rows = try SQLCipherShell.run(
            tool.database,
            key: "x'\(tool.password)'",
            "SELECT a FROM t;"
        )
        #expect(rows == (journal == .log ? "from the log" : "zettel"))
    }

    /// The original would be kept without what is in it, and the journal removed.
    @Test(arguments: Journal.allCases, Refusal.allCases)
    func originalIsNotKeptWithoutIt(_ journal: Journal, _ refusal: Refusal) throws {
        let backup = tool.folder.path("backup.db")
        _ = try SQLCipherShell.run(backup, key: "x'\(tool.password)'", "CREATE TABLE b(a);")
        try leave(journal)
        let path = tool.database + journal.rawValue
        let result = try run(
            ["restore", "--from", backup, "--keep-original", output, "--json"] + tool.opening,
            refusal,
            of: path
        )
        #expect(result.status == (refusal == .permission ? 77 : 74), "\(result)")
        #expect(result.stderr.contains("store.db\(journal.rawValue)"), "\(result)")
        #expect(access(output, F_OK) != 0)
        #expect(access(path, F_OK) == 0)
    }

    /// One read error at each reading of the journal.
    @Test(arguments: Journal.allCases)
    func oneReadErrorIsEnoughForSalvage(_ journal: Journal) throws {
        try leave(journal)
        var count = 0
        while true {
            count += 1
            try #require(count < 60)
            let result = try TestSupport.run(
                "strace",
                [
                    "-f", "-qq", "-o", "/dev/null", "-P", tool.database + journal.rawValue, "-e",
                    "inject=pread64:error=EIO:when=\(count)", builtExecutable("migrationkit-cli"),
                ] + arguments("salvage"),
                environment: tool.environment,
                newSession: true
            )
            guard result.status != 74 else {
                #expect(result.stderr.contains("store.db\(journal.rawValue)"), "\(result)")
                continue
            }
            // A page that was read once and not again is told.
            if result.status == 2 {
                try FileManager.default.removeItem(atPath: output)
                continue
            }
            #expect(result.status == 0, "\(result)")
            let rows = try SQLCipherShell.run(
                output,
                key: "x'\(tool.password)'",
                "SELECT a FROM t;"
            )
            #expect(rows == (journal == .log ? "from the log" : "zettel"))
            break
        }
        #expect(count > 1)
    }
}
