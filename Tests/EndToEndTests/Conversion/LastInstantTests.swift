import Foundation
import TestSupport
import Testing

/// Another process opens a database just before, or just after, another file takes its place. What
/// it commits is in the file that is there in the end, or it is told that it could not.
@Suite struct LastInstantTests {
    private let tool: Tool
    private let newKey: String

    init() throws {
        tool = try Tool(isRawKey: true)
        newKey = ToolFolder.randomDigits(count: 64)
        try tool.folder.write("new", newKey.utf8)
    }

    enum Kind: String, CaseIterable {
        case rekey, restore
    }

    /// When the other process opens the file.
    enum Instant: CaseIterable {
        /// Nobody is looked for any more, and the old file has its name still.
        case before
        /// The new file has the name, and the old one is still locked.
        case after
    }

    @Test(arguments: Kind.allCases.flatMap { kind in Instant.allCases.map { (kind, $0) } })
    func noCommitIsLostWithoutAWord(_ what: (Kind, Instant)) throws {
        let (kind, instant) = what
        for journalMode in ["DELETE", "WAL"] {
            let (path, backup) = (tool.database, tool.folder.path("backup.db"))
            try make(path, journalMode)
            if kind == .restore { try make(backup, journalMode) }
            let arguments =
                [kind.rawValue] + tool.opening
                + more(kind, backup) + ["--lock-timeout", "0.1"]
            let runs = try KilledRuns(tool, arguments) { try make(path, journalMode) }
            let process = try runs.stop(
                inLast: instant == .before ? "fsync" : "rename",
                before: "rename"
            )
            let other = try open(
                path,
                keys: kind == .rekey ? [newKey, tool.password] : [tool.password]
            )
            let result = try KilledRuns.finish(process)
            // It has opened the old file, and doesn't close it.
            #expect(result.status == (instant == .before ? 75 : 0), "\(result)")
            #expect(result.stderr.contains("End that program now") == (instant == .before))
            other.write("go on\n".utf8)
            let outcome = try other.finish()
            let rows = try SQLCipherShell.run(
                path,
                key: "x'\(kind == .rekey ? newKey : tool.password)'",
                "PRAGMA integrity_check; SELECT a FROM t;"
            )
            if outcome.status == 0 {
                #expect(rows == "ok\nzettel\nof another", "\(outcome)")
            } else {
                #expect(outcome.stderr.contains("file is not a database"), "\(outcome)")
                #expect(rows == "ok\nzettel")
            }
            // Otherwise the instant would not have been the right one.
            #expect((outcome.status == 0) == (instant == .after), "\(journalMode): \(outcome)")
        }
    }

    /// The old file must stay readable under its other name, and so it can't be made unusable.
    @Test(arguments: Kind.allCases)
    func theOldFileIsNotUsedBesideTheNewOnesLog(_ kind: Kind) throws {
        let (path, backup, copy) = (
            tool.database, tool.folder.path("backup.db"), tool.folder.path("copy.db")
        )
        try make(path, "WAL")
        try make(backup, "WAL")
        let arguments = [kind.rawValue] + tool.opening + more(kind, backup)
        let runs = try KilledRuns(tool, arguments) {
            try make(path, "WAL")
            unlink(copy)
            #expect(link(path, copy) == 0)
        }
        let process = try runs.stop(inLast: "fsync", before: "rename")
        let other = try open(path, keys: [tool.password], timeout: 2)
        other.write("go on\n".utf8)
        process.send(SIGCONT)
        let outcome = try other.finish()
        #expect(outcome.stderr.contains("database is locked"), "\(outcome)")
        let result = try process.finish()
        #expect(result.status == 0, "\(result)")
        let check = "PRAGMA integrity_check; SELECT a FROM t;"
        let key = kind == .rekey ? newKey : tool.password
        #expect(try SQLCipherShell.run(path, key: "x'\(key)'", check) == "ok\nzettel")
        #expect(try SQLCipherShell.run(copy, key: "x'\(tool.password)'", check) == "ok\nzettel")
    }

    private func more(_ kind: Kind, _ backup: String) -> [String] {
        switch kind {
        case .rekey: ["--new-password-file", tool.folder.path("new"), "--new-raw-key"]
        case .restore: ["--from", backup, "--yes"]
        }
    }

    private func make(_ path: String, _ journalMode: String) throws {
        for suffix in ["", "-wal", "-shm"] { unlink(path + suffix) }
        _ = try SQLCipherShell.run(
            path,
            key: "x'\(tool.password)'",
            """
            PRAGMA journal_mode = \(journalMode);
            CREATE TABLE t (a);
            INSERT INTO t VALUES ('zettel');
            """
        )
    }

    /// A process that has opened the file when this returns, and writes a row when it is told to,
    /// with the first of the keys that opens it.
    ///
    /// - Parameter timeout: How long it waits for locks, in seconds.
    private func open(_ path: String, keys: [String], timeout: Int = 60) throws -> ChildProcess {
        let process = try ChildProcess(
            Python.executable,
            [
                "-c",
                Python.connect + """
                    path, keys = json.loads(sys.stdin.readline())
                    connections = [connect(path, f"x'{key}'", timeout=\(timeout)) for key in keys]
                    print("open", flush=True)
                    sys.stdin.readline()
                    for connection in connections:
                        try:
                            connection.execute("INSERT INTO t VALUES ('of another')")
                            connection.commit()
                            connection.close()
                            break
                        except sqlcipher3.DatabaseError as error:
                            if connection is connections[-1]:
                                raise
                    """,
            ]
        )
        process.write(try JSONSerialization.data(withJSONObject: [path, keys]))
        process.write("\n".utf8)
        #expect(process.readLine() == "open")
        return process
    }
}
