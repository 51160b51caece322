import Foundation
import TestSupport
import Testing

/// SQL, options and rows that want to do harm, or that make no sense: each is refused or shown, and
/// nothing has changed afterwards.
@Suite struct HostileQueryTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let arguments: [String]
        var input: [UInt8] = []
        var status: Int32 = 64
        /// What standard output or standard error says.
        let says: String

        init(_ arguments: String..., input: [UInt8] = [], status: Int32 = 64, says: String) {
            self.arguments = arguments
            self.input = input
            self.status = status
            self.says = says
        }

        var testDescription: String {
            arguments.map { String($0.prefix(60)) }.joined(separator: " ")
        }
    }

    private static let writes = "the SQL would change the database"
    private static let schema = "the SQL would change the schema or the whole file"
    private static let transaction = "the SQL begins or ends a transaction"
    private static let otherFile = "the SQL attaches or detaches a file"
    private static let noSQL = "there is no SQL to run"
    private static let rows = "WITH n (i) AS (SELECT 7)"

    /// What only reads, and what it may not do.
    static let reading = [
        Case("ATTACH 'other.db' AS other", says: otherFile),
        Case("ATTACH :path AS other", "--bind", "path=other.db", says: otherFile),
        Case("DETACH main", says: otherFile),
        Case("PRAGMA writable_schema = 1", says: "PRAGMA writable_schema is not allowed"),
        Case("PRAGMA key = 'x'", says: "PRAGMA key is not allowed"),
        Case("PRAGMA rekey = 'x'", says: "PRAGMA rekey is not allowed"),
        Case("PRAGMA main.ReKey = 'x'", says: "PRAGMA rekey is not allowed"),
        Case("PRAGMA hexrekey = '00'", says: "PRAGMA hexrekey is not allowed"),
        Case("PRAGMA cipher_profile = 'profile'", says: "PRAGMA cipher_profile is not allowed"),
        Case("PRAGMA cipher_log = 'log'", says: "PRAGMA cipher_log is not allowed"),
        Case("PRAGMA cipher_migrate", says: "PRAGMA cipher_migrate is not allowed"),
        Case("PRAGMA temp_store = 1", says: "PRAGMA temp_store is not allowed"),
        Case("PRAGMA temp_store_directory = '.'", says: "PRAGMA temp_store_directory is not"),
        Case("PRAGMA query_only = 0", says: "PRAGMA query_only is not allowed"),
        Case("PRAGMA journal_mode = WAL", says: "PRAGMA journal_mode is not allowed"),
        Case("PRAGMA user_version = 7", says: "PRAGMA user_version is not allowed"),
        Case("PRAGMA wal_checkpoint", says: "PRAGMA wal_checkpoint is not allowed"),
        Case("PRAGMA optimize", says: "PRAGMA optimize is not allowed"),
        Case("SELECT * FROM pragma_optimize", says: "PRAGMA optimize is not allowed"),
        Case("SELECT load_extension('libm.so.6')", says: "load_extension() is not allowed"),
        Case("SELECT sqlcipher_export('main')", says: "sqlcipher_export() is not allowed"),
        Case("SELECT fts3_tokenizer('simple')", says: "fts3_tokenizer() is not allowed"),
        Case("SELECT writefile('out', 'x')", says: "no such function: writefile"),
        Case("SELECT readfile('password')", says: "no such function: readfile"),
        Case("SELECT 1; SELECT 2", says: "the SQL has several statements"),
        Case("SELECT 1; DROP TABLE note", says: "the SQL has several statements"),
        Case("SELECT 1; nonsense", says: "the SQL has several statements"),
        Case("", says: noSQL),
        Case(" ;; ", says: noSQL),
        Case(input: Array("-- only\n/* comments */".utf8), says: noSQL),
        Case("-", input: [], says: noSQL),
        Case(input: Array("SELECT 1\0; DROP TABLE note".utf8), says: "it has a zero byte"),
        Case(input: Array("SELECT '".utf8) + [0xFF, 0x27], says: "it is not UTF-8 text"),
        Case("SELECT :name", "--bind", "nam=1", says: "no value for the parameter name"),
        Case("SELECT 1", "--bind", "nam=1", says: "the SQL has no parameter 'nam'"),
        Case("SELECT ?, ?5", "--bind", "1=1", says: "no value for the parameters 2, 3, 4, 5"),
        Case("SELECT :a", "--bind", "a", says: "'a' is invalid for '--bind"),
        Case("SELECT :a", "--bind", "a=x'0'", says: "is invalid for '--bind"),
        Case("SELECT :a", "--bind", "a=1", "--bind", ":a=2", says: "--bind gives 'a' twice"),
        Case("SELECT 1", "--file", "other", says: "the SQL is given twice"),
        Case("--file", "/nowhere", status: 66, says: "/nowhere can't be read"),
        Case("SELECT 1", "--dry-run", says: "--dry-run needs --write"),
        Case("SELECT 1", "--json", "--format", "csv", says: "contradict each other"),
        Case("INSERT INTO note (title) VALUES ('x')", says: writes),
        Case("\(rows) INSERT INTO note (id) SELECT i FROM n", says: writes),
        Case("\(rows) UPDATE note SET id = i FROM n RETURNING *", says: writes),
        Case("DELETE FROM note RETURNING id", says: writes),
        Case("INSERT INTO words (words) VALUES ('rebuild')", says: writes),
        Case("CREATE TABLE other (id)", says: schema),
        Case("CREATE TEMP TABLE other AS SELECT * FROM note", says: schema),
        Case("DROP TABLE note", says: schema),
        Case("ALTER TABLE note RENAME TO other", says: schema),
        Case("VACUUM", says: schema),
        Case("VACUUM INTO 'other.db'", says: schema),
        Case("REINDEX", says: schema),
        Case("ANALYZE", says: schema),
        Case("BEGIN", says: transaction),
        Case("COMMIT", says: transaction),
        Case("SAVEPOINT here", says: transaction),
        Case("SELECT zeroblob(500000000)", status: 1, says: "a value is too large"),
        Case("SELECT hex(zeroblob(40000000))", status: 1, says: "a value is too large"),
        Case("SELECT 'open", says: "unrecognized token"),
        Case(
            "SELECT " + String(repeating: "(", count: 5000) + "1",
            says: "the SQL can't be used: "
        ),
        Case("SELECT abs(-9223372036854775808)", status: 1, says: "the SQL failed: "),
    ]

    /// What changes rows, and goes too far.
    static let writing = [
        Case("DELETE FROM grdb_migrations", says: "would change the record of migrations"),
        Case("DELETE FROM sqlite_sequence", says: "would change a table of SQLite's own"),
        Case("UPDATE GRDB_Migrations SET identifier = 1", says: "the record of migrations"),
        Case("UPDATE note SET title = 'x'; COMMIT", says: transaction),
        Case("DELETE FROM note; ROLLBACK; SELECT 1", says: transaction),
        Case("DELETE FROM note; nonsense", says: "syntax error"),
        Case("DELETE FROM note; DROP TABLE note", says: schema),
        Case("CREATE TRIGGER t AFTER INSERT ON note BEGIN SELECT 1; END", says: schema),
        Case("UPDATE sqlite_schema SET sql = ''", says: "table sqlite_master may not be modified"),
        Case("DELETE FROM words_data", says: "table words_data may not be modified"),
        Case("PRAGMA foreign_keys = OFF", says: "PRAGMA foreign_keys is not allowed"),
        Case("PRAGMA ignore_check_constraints = 1", says: "is not allowed"),
        Case("ATTACH 'other.db' AS other", says: otherFile),
        Case("VACUUM", says: schema),
        Case("VACUUM INTO 'other.db'", says: schema),
        Case("INSERT INTO child VALUES (99)", status: 1, says: "a foreign key would refer"),
        Case("DELETE FROM note; INSERT INTO note (id) VALUES (1), (1)", status: 1, says: "UNIQUE"),
        Case("DELETE FROM note RETURNING id; SELECT 1", says: "several statements return rows"),
        Case("DELETE FROM note WHERE id = :id", says: "no value for the parameter id"),
        Case("DELETE FROM note", "--bind", "id=1", says: "the SQL has no parameter 'id'"),
        Case("-- nothing", input: [], says: "unknown option"),
        Case("DELETE FROM note", "--dry-run", status: 0, says: "Would change 6 rows. Nothing was"),
        Case(
            "INSERT INTO child VALUES (99)",
            "--dry-run",
            status: 1,
            says: "a foreign key would refer"
        ),
    ]

    /// Runs all on one store: it is the same after each.
    private func check(_ cases: [Case], _ options: [String]) throws {
        let store = try QueriedStore<Tool>()
        // The lock of a run comes and goes, so the folder's own time may differ.
        func files() throws -> [String: Data?] {
            try store.tool.folder.snapshot().entries.mapValues(\.content)
        }
        let before = try files()
        for one in cases {
            let words = [
                "-C", store.tool.folder.path, try builtExecutable("migrationkit-cli"), "query",
            ]
            let result = try TestSupport.run(
                "/usr/bin/env",
                words + store.tool.opening + options + one.arguments,
                environment: store.tool.environment,
                input: one.input,
                newSession: true
            )
            let name = one.testDescription
            #expect(result.status == one.status, "\(name): \(result)")
            #expect((result.stdout + result.stderr).contains(one.says), "\(name): \(result)")
            #expect(!result.controlsTerminal, "\(name): \(result)")
            #expect(!(result.stdout + result.stderr).contains(store.tool.password), "\(name)")
            #expect(try files() == before, "\(name)")
        }
    }

    @Test func readingChangesNothingWhateverTheSQL() throws {
        try check(Self.reading, [])
    }

    @Test func writingKeepsToItsLimitsAndUndoesWhatFails() throws {
        try check(Self.writing, ["--write"])
    }

    @Test(arguments: ["table", "csv", "json", "jsonl", "list", "markdown"])
    func noFormatControlsTheTerminalItIsShownOn(_ format: String) throws {
        let store = try QueriedStore<Tool>()
        let process = try store.onTerminal(["SELECT * FROM note", "--format", format])
        let result = process.finish()
        #expect(result.status == 0)
        let text = result.outputBytes.filter { $0 != 0x0A && $0 != 0x0D }
        #expect(!text.contains { $0 < 0x20 || $0 == 0x7F })
        #expect(!result.stdout.unicodeScalars.contains { (0x80..<0xA0).contains($0.value) })
    }

    // MARK: - Endless

    @Test(arguments: [
        ["SELECT count(*) FROM endless"], ["SELECT i FROM endless"],
        ["SELECT i FROM endless ORDER BY 1"],
        ["--write", "INSERT INTO log SELECT i FROM endless"],
    ])
    func controlCEndsAnEndlessStatementAtOnce(_ arguments: [String]) throws {
        let store = try QueriedStore<Tool>()
        let before = try store.tool.shell("SELECT count(*) FROM log;")
        let process = try store.onTerminal(arguments)
        if arguments == ["SELECT i FROM endless"] {
            #expect(process.wait(for: "1"))
        } else {
            // It shows nothing. To start takes a fraction of this time.
            try wait(for: "the statement to run") {
                try processorTime(process.processIdentifier) > 0.5
            }
        }
        let start = ContinuousClock.now
        process.type([3])
        let result = process.finish()
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(result.status == 130, "\(result.status ?? -1) \(result.stdout.suffix(300))")
        #expect(result.stdout.contains("interrupted"))
        #expect(try store.tool.shell("SELECT count(*) FROM log;") == before)
    }

    /// Nobody reads, so that the tool waits in a system call.
    @Test func controlCEndsAQueryWhoseReaderSleeps() throws {
        let store = try QueriedStore<Tool>()
        let process = try ChildProcess(
            builtExecutable("migrationkit-cli"),
            ["query"] + store.tool.opening + ["SELECT i FROM endless"],
            environment: store.tool.environment,
            newSession: true
        )
        #expect(process.readLine() == "i")
        usleep(200_000)
        process.send(SIGINT)
        let deadline = ContinuousClock.now + .seconds(20)
        // What it has written is read only when it has ended.
        try wait(for: "the end of the query") {
            var status = siginfo_t()
            let options = WEXITED | WNOHANG | WNOWAIT
            waitid(P_PID, id_t(process.processIdentifier), &status, options)
            return status.si_signo == SIGCHLD
        }
        #expect(ContinuousClock.now < deadline)
        #expect(try process.finish().status == 130)
    }

    @Test func closedPipeEndsTheQueryQuietly() throws {
        let store = try QueriedStore<Tool>()
        let result = try TestSupport.run(
            "/bin/bash",
            [
                "-c", "\"$@\" | head -3; exit ${PIPESTATUS[0]}", "bash",
                builtExecutable("migrationkit-cli"), "query",
            ] + store.tool.opening + ["SELECT i FROM endless", "--format", "list"],
            environment: store.tool.environment,
            newSession: true
        )
        #expect(result.stdout == "1\n2\n3\n")
        #expect(result.stderr == "")
        #expect(result.status == 141)
    }

    @Test func writingGoesOnWhenNobodyReadsItsRows() throws {
        let store = try QueriedStore<Tool>()
        let result = try TestSupport.run(
            "/bin/bash",
            [
                "-c", "\"$@\" | head -1; exit ${PIPESTATUS[0]}", "bash",
                builtExecutable("migrationkit-cli"), "query", "--write",
            ] + store.tool.opening + [
                "INSERT INTO log SELECT i FROM (SELECT i FROM endless LIMIT 100000) RETURNING id",
                "--format", "list",
            ],
            environment: store.tool.environment,
            newSession: true
        )
        #expect(result.stdout == "1\n" && result.status == 141, "\(result)")
        #expect(try store.tool.shell("SELECT count(*) FROM log;") == "100000")
    }

    @Test func fullDiskBehindTheOutputIsAnError() throws {
        let store = try QueriedStore<Tool>()
        let result = try TestSupport.run(
            "/bin/bash",
            ["-c", "\"$@\" >/dev/full", "bash", builtExecutable("migrationkit-cli"), "query"]
                + store.tool.opening + ["SELECT i FROM endless"],
            environment: store.tool.environment,
            newSession: true
        )
        #expect(result.status == 74 && result.stderr.contains("no space left"), "\(result)")
    }
}

/// For how long a process has run, in seconds.
private func processorTime(_ process: pid_t) throws -> Double {
    // The 14th and 15th of all fields: as the process itself, and inside the kernel.
    let ticks = try processFields(process).dropFirst(11).prefix(2)
        .compactMap { Double($0) }.reduce(0, +)
    return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
}
