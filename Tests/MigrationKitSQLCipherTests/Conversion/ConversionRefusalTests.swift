import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import Synchronization
import TestSupport
import Testing

/// What a conversion refuses, and that it leaves everything as it was.
@Suite struct ConversionRefusalTests {
    let folder: TemporaryFolder
    let key: TestKey
    let new: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
        new = try TestKey.raw()
    }

    private func make(_ journalMode: String = "delete") throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            PRAGMA journal_mode = \(journalMode);
            CREATE TABLE t (a);
            INSERT INTO t VALUES ('zettel');
            \(Fixtures.fill(pages: 300))
            """
        )
    }

    /// Everything in the folder; that something was in it for a while is no matter.
    private func files() throws -> [String: FolderSnapshot.Entry] {
        try folder.snapshot().entries.filter { $0.key != "." }
    }

    private func rekey(_ options: RewriteOptions = .init(timeout: 0.3)) throws {
        try DatabaseConversion.rekey(
            folder.database,
            from: key.key,
            to: new.key,
            options: options
        ).run()
    }

    // MARK: - Keys and Files

    @Test func wrongKeyChangesNothing() throws {
        try make()
        let before = try files()
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try DatabaseConversion.rekey(folder.database, from: new.key, to: key.key).run()
        }
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.database)) {
            try DatabaseConversion.decrypt(folder.database, key: new.key).run()
        }
        #expect(throws: DatabaseConversionError.notPlaintext(path: folder.database)) {
            try DatabaseConversion.encrypt(folder.database, key: new.key).run()
        }
        #expect(try files() == before)
    }

    @Test func plaintextAndMissingFilesAreTold() throws {
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: folder.database)) { try rekey() }
        try folder.write("notes.db", [])
        #expect(throws: EncryptedDatabaseError.empty(path: folder.database)) { try rekey() }
        let text = Array("no database, whatever its name says".utf8)
        try folder.write("notes.db", text)
        #expect(throws: EncryptedDatabaseError.notADatabase(path: folder.database)) {
            try DatabaseConversion.encrypt(folder.database, key: key.key).run()
        }
        // As long as a page of an encrypted one.
        try folder.write("notes.db", (0..<512).map { text[$0 % text.count] })
        #expect(throws: DatabaseConversionError.notPlaintext(path: folder.database)) {
            try DatabaseConversion.encrypt(folder.database, key: key.key).run()
        }
        #expect(unlink(folder.database) == 0)
        try Fixtures.plaintext(folder.database)
        let before = try files()
        #expect(throws: EncryptedDatabaseError.plaintext(path: folder.database)) { try rekey() }
        #expect(try files() == before)
    }

    /// The last page of a large value is none in which a check of the structure would find anything.
    @Test(arguments: [2, 150, 300])
    func damagedPageEndsItWithoutATrace(_ page: Int) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(4012 * 298 + 100));"
        )
        #expect(try folder.databaseData().count == 300 * 4096)
        try folder.damage(at: 4096 * (page - 1) + 2000)
        let before = try files()
        #expect(throws: EncryptedDatabaseError.damaged(path: folder.database, pages: [page])) {
            try rekey()
        }
        #expect(try files() == before)
    }

    @Test func rowsThatBreakTheirOwnRulesAreKept() throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (p INTEGER REFERENCES parent, q INTEGER REFERENCES nowhere (z),
                n INTEGER CHECK (n > 0));
            PRAGMA foreign_keys = OFF;
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO child VALUES (7, NULL, -1);
            """
        )
        try rekey()
        #expect(
            try SQLCipherShell.run(folder.database, key: new.spelling, "SELECT * FROM child;")
                == "7||-1"
        )
    }

    // MARK: - Others

    /// What another process may have of a database.
    enum Hold: String, CaseIterable {
        case write = "connection.execute('BEGIN IMMEDIATE')"
        case read = "connection.execute('BEGIN'); connection.execute('SELECT a FROM t').fetchall()"
        case idle = "connection.execute('SELECT a FROM t').fetchall()"
    }

    private func hold(_ hold: Hold) throws -> ChildProcess {
        let program =
            Python.connect + """
                path, key = json.loads(sys.stdin.readline())
                connection = connect(path, key, isolation_level=None)
                \(hold.rawValue)
                print("holds", flush=True)
                sys.stdin.readline()
                if connection.in_transaction and "IMMEDIATE" in \(hold == .write ? "'IMMEDIATE'" : "''"):
                    connection.execute("INSERT INTO t VALUES ('of another')")
                    connection.execute("COMMIT")
                connection.close()
                """
        let process = try ChildProcess(Python.executable, ["-c", program])
        process.write(try JSONSerialization.data(withJSONObject: [folder.database, key.spelling]))
        process.write("\n".utf8)
        let line = process.readLine()
        try #require(line == "holds")
        return process
    }

    @Test(arguments: Hold.allCases, ["delete", "wal"])
    func otherProcessIsNamed(_ what: Hold, _ journalMode: String) throws {
        try make(journalMode)
        let other = try hold(what)
        #expect {
            try rekey()
        } throws: { error in
            guard case DatabaseConversionError.inUse(folder.database, let processes) = error else {
                return false
            }
            return processes.map(\.identifier) == [other.processIdentifier]
                && processes[0].name?.hasPrefix("python") == true
        }
        #expect(try folder.names.allSatisfy { $0.hasPrefix("notes.db") && !$0.hasSuffix(".lock") })
        other.write("go on\n".utf8)
        #expect(try other.finish().status == 0)
        #expect(
            try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT count(*) FROM t;")
                == (what == .write ? "2" : "1")
        )
    }

    @Test(arguments: Hold.allCases, ["delete", "wal"])
    func otherProcessIsWaitedForAndLosesNothing(_ what: Hold, _ journalMode: String) throws {
        try make(journalMode)
        let other = try hold(what)
        let waited = Atomic(false)
        try rekey(
            .init(
                timeout: 60,
                observer: { event in
                    guard case .waiting(let processes) = event,
                        processes.map(\.identifier) == [other.processIdentifier],
                        !waited.exchange(true, ordering: .relaxed)
                    else { return }
                    other.write("go on\n".utf8)
                }
            )
        )
        let wasWaited = waited.load(ordering: .relaxed)
        #expect(wasWaited)
        #expect(try other.finish().status == 0)
        #expect(
            try SQLCipherShell.run(folder.database, key: new.spelling, "SELECT count(*) FROM t;")
                == (what == .write ? "2" : "1")
        )
        #expect(try folder.names == ["notes.db"])
    }

    @Test(arguments: ["delete", "wal"])
    func nobodyGetsInWhileItRuns(_ journalMode: String) throws {
        try make(journalMode)
        let before = try folder.databaseData().count
        let refused = Atomic(0)
        let (path, spelling) = (folder.database, key.spelling)
        try rekey(
            .init(
                timeout: 60,
                observer: { event in
                    guard case .progress(_, bytesDone: 0, bytesTotal: _) = event else { return }
                    let result = try? Python.run(
                        Python.connect + """
                            path, key = json.load(sys.stdin)
                            connection = connect(path, key, timeout=0.01)
                            connection.execute("INSERT INTO t VALUES ('lost')")
                            connection.commit()
                            """,
                        input: [path, spelling]
                    )
                    if result?.stderr.contains("database is locked") == true {
                        refused.add(1, ordering: .relaxed)
                    }
                }
            )
        )
        #expect(before > 1_000_000)
        let refusals = refused.load(ordering: .relaxed)
        #expect(refusals == 3)
        #expect(
            try SQLCipherShell.run(path, key: new.spelling, "SELECT count(*) FROM t;") == "1"
        )
    }

    @Test func whoOpenedItDuringTheRunIsWaitedForAtTheEnd() throws {
        try make()
        let path = folder.database
        let other = Mutex<ChildProcess?>(nil)
        #expect {
            try rekey(
                .init(
                    timeout: 0.3,
                    observer: { event in
                        guard case .progress(.verifying, bytesDone: 0, bytesTotal: _) = event
                        else { return }
                        let process = try? ChildProcess(
                            "bash",
                            ["-c", "exec 9<>\"$1\"; echo open; read line", "bash", path]
                        )
                        #expect(process?.readLine() == "open")
                        other.withLock { $0 = process }
                    }
                )
            )
        } throws: { error in
            guard case DatabaseConversionError.inUse(path, let processes) = error else {
                return false
            }
            let identifier = other.withLock { $0?.processIdentifier ?? 0 }
            return processes.map(\.identifier) == [identifier]
        }
        #expect(try folder.names == ["notes.db"])
        try EncryptedDatabase.open(path, key: key.key).close()
        other.withLock { $0?.closeInput() }
    }

    @Test func ownConnectionHasToBeClosed() throws {
        try make()
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        #expect(throws: DatabaseConversionError.openHere(path: folder.database)) { try rekey() }
        try queue.close()
        try rekey()
    }

    @Test func migrationOfTheSameDatabaseIsWaitedFor() throws {
        try make()
        let holder = try ChildProcess(
            "flock",
            [folder.database + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        #expect {
            try rekey()
        } throws: { error in
            if case DatabaseConversionError.busy(folder.database, _) = error { true } else { false }
        }
        holder.closeInput()
        #expect(try holder.finish().status != nil)
        try rekey()
    }

    /// Another conversion was first, and the key that was given isn't the database's any more.
    @Test func keyThatChangesDuringTheWaitIsNotReportedAsWrong() throws {
        try make()
        let (path, copy) = (folder.database, folder.path("copy.db"))
        let third = try TestKey.raw()
        try DatabaseConversion.rekey(
            path,
            from: key.key,
            to: third.key
        ).run(to: copy)
        let holder = Mutex<ChildProcess?>(
            try ChildProcess("flock", [path + "-migration.lock", "-c", "echo held; read line"])
        )
        #expect(holder.withLock { $0?.readLine() } == "held")
        let options = RewriteOptions(timeout: 60) { event in
            guard case .waiting = event else { return }
            rename(copy, path)
            holder.withLock { $0?.closeInput() }
        }
        #expect(throws: DatabaseConversionError.replacedMeanwhile(path: path)) {
            try rekey(options)
        }
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) { try rekey() }
        try EncryptedDatabase.open(path, key: third.key).close()
    }

    // MARK: - Ending It

    @Test(arguments: [ConversionEvent.Phase.copying, .comparing, .verifying], ["delete", "wal"])
    func cancellationLeavesEverythingAsItWas(
        _ phase: ConversionEvent.Phase,
        _ journalMode: String
    ) throws {
        try make(journalMode)
        let before = try folder.databaseData()
        let cancellation = Cancellation()
        #expect(throws: CancellationError.self) {
            try rekey(
                .init(
                    cancellation: cancellation,
                    observer: { event in
                        if case .progress(phase, bytesDone: 0, bytesTotal: _) = event {
                            cancellation.cancel()
                        }
                    }
                )
            )
        }
        #expect(try folder.names == ["notes.db"])
        #expect(try folder.databaseData() == before)
    }

    @Test func cancelledTaskEndsIt() async throws {
        try make()
        let before = try folder.databaseData()
        let conversion = DatabaseConversion.rekey(folder.database, from: key.key, to: new.key)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await asyncRun { try conversion.run() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.databaseData() == before)
        #expect(try await asyncRun { try conversion.run() }.rowCount == 301)
    }
}
