import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

@Suite struct DatabaseBackupTests {
    let folder: TemporaryFolder
    private var output: String { folder.path("backup.db") }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func backUp(
        _ key: TestKey,
        newKey: TestKey? = nil,
        options: RewriteOptions = .init()
    ) throws -> BackupReport {
        try DatabaseBackup(
            folder.database,
            to: output,
            form: .encrypted(key.key),
            newKey: newKey?.key,
            options: options
        ).run()
    }

    // MARK: - What Is in It

    @Test(arguments: RichStore.all)
    func everythingIsKeptUnderTheSameAndAnotherKey(_ store: RichStore) throws {
        for (key, other) in zip(try TestKey.each(), [try TestKey.raw(), try .passphrase(), nil]) {
            let path = folder.database
            try store.make(path, key: key.spelling)
            let content = try RichStore.content(path, key: key.spelling)
            let before = try folder.databaseData()
            let report = try backUp(key, newKey: other)
            #expect(report.byteCount == before.count)
            #expect(report.isCompared)
            #expect(report.findings == [])
            #expect(try folder.names == ["backup.db", "notes.db"])
            #expect(folder.mode("backup.db") == 0o600)
            #expect(
                try RichStore.content(output, key: (other ?? key).spelling) == content
            )
            #expect(try folder.databaseData() == before)
            #expect(try folder.data("backup.db").range(of: Data(RichStore.marker.utf8)) == nil)
            #expect(unlink(path) == 0 && unlink(output) == 0)
        }
    }

    @Test func plaintextStaysSoWithItsPageSize() throws {
        for (store, size) in zip(RichStore.all, [512, 1024, 65536, 4096]) {
            _ = try SQLiteShell.run(folder.database, "PRAGMA page_size = \(size); VACUUM;")
            try store.make(folder.database, key: nil)
            let report = try DatabaseBackup(folder.database, to: output, form: .plaintext()).run()
            #expect(report.findings == [])
            #expect(
                try RichStore.content(output, key: nil)
                    == RichStore.content(folder.database, key: nil)
            )
            #expect(try SQLiteShell.run(output, "PRAGMA page_size;") == "\(size)\n")
            #expect(unlink(folder.database) == 0 && unlink(output) == 0)
        }
    }

    @Test func settingsOfAnOlderVersionAreKept() throws {
        let (key, new) = (try TestKey.passphrase(), try TestKey.passphrase())
        try RichStore.all[1].make(folder.database, key: key.spelling, compatibility: 3)
        try DatabaseBackup(
            folder.database,
            to: output,
            form: .encrypted(key.key, cipher: .sqlCipher(3)),
            newKey: new.key
        ).run()
        #expect(
            try SQLCipherShell.run(
                output,
                key: new.spelling,
                compatibility: 3,
                "PRAGMA quick_check; SELECT count(*) > 2000 FROM note;"
            ) == "ok\n1"
        )
    }

    /// With the salt of the database, pages of an older backup could be put into it, and the other
    /// way round, and every check of SQLCipher's would pass.
    @Test func pagesOfItAreNoGoodInTheDatabase() throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        _ = try backUp(key)
        var database = try folder.databaseData()
        let backup = try folder.data("backup.db")
        #expect(database.prefix(16) != backup.prefix(16))
        database.replaceSubrange(4096..<8192, with: backup[4096..<8192])
        try folder.write("notes.db", database)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        #expect(throws: DatabaseError.self) {
            try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM t") }
        }
    }

    @Test func whatAKilledProgramLeftIsInIt() throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        try Crash.leaveLog(of: folder.database, key: key)
        _ = try backUp(key)
        #expect(
            try SQLCipherShell.run(output, key: key.spelling, "SELECT a FROM t;")
                == "zettel\nfrom the log"
        )
        #expect(unlink(output) == 0)
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode = DELETE;"
        )
        try Crash.leaveJournal(of: folder.database, key: key)
        _ = try backUp(key)
        #expect(
            try SQLCipherShell.run(output, key: key.spelling, "SELECT a FROM t;")
                == "zettel\nfrom the log"
        )
    }

    // MARK: - Others

    @Test(arguments: ["wal", "delete"])
    func everyBackupIsOneInstantOfABusyDatabase(_ journalMode: String) throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            PRAGMA journal_mode = \(journalMode);
            CREATE TABLE account (id INTEGER PRIMARY KEY, amount INTEGER, padding BLOB);
            WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 999)
            INSERT INTO account SELECT i, 0, randomblob(3500) FROM c;
            CREATE TABLE counter (n INTEGER);
            INSERT INTO counter VALUES (0);
            CREATE TABLE history (n INTEGER);
            """
        )
        let writer = try ChildProcess(
            Python.executable,
            [
                "-c",
                Python.connect + """
                    import random, threading
                    path, key = json.loads(sys.stdin.readline())
                    connection = connect(path, key, isolation_level=None, timeout=100)
                    ended = threading.Event()
                    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set())).start()
                    count = 0
                    while not ended.is_set():
                        connection.execute("BEGIN IMMEDIATE")
                        change = "UPDATE account SET amount = amount + ? WHERE id = ?"
                        for _ in range(5):
                            amount = random.randrange(100)
                            connection.execute(change, (amount, random.randrange(500)))
                            connection.execute(change, (-amount, random.randrange(500, 1000)))
                        connection.execute("UPDATE counter SET n = n + 1")
                        connection.execute("INSERT INTO history SELECT n FROM counter")
                        connection.execute("COMMIT")
                        count += 1
                        if count == 1: print("writes", flush=True)
                    connection.close()
                    print(count)
                    """,
            ]
        )
        writer.write(try JSONSerialization.data(withJSONObject: [folder.database, key.spelling]))
        writer.write("\n".utf8)
        #expect(writer.readLine() == "writes")
        var counts: [Int] = []
        for _ in 0..<6 {
            let report = try backUp(key, options: .init(timeout: 100))
            #expect(report.isCompared)
            let found = try SQLCipherShell.run(
                output,
                key: key.spelling,
                """
                PRAGMA integrity_check;
                SELECT sum(amount) FROM account;
                SELECT (SELECT n FROM counter) = (SELECT count(*) FROM history)
                    AND (SELECT n FROM counter) = (SELECT max(n) FROM history);
                SELECT n FROM counter;
                """
            ).split(separator: "\n")
            #expect(found.dropLast() == ["ok", "0", "1"])
            counts.append(try #require(found.last.flatMap { Int($0) }))
            #expect(unlink(output) == 0)
        }
        writer.write("end\n".utf8)
        let result = try writer.finish()
        #expect(result.status == 0, "\(result)")
        let total = try #require(Int(result.stdout.trimmingCharacters(in: .whitespacesAndNewlines)))
        #expect(counts == counts.sorted() && counts[0] < counts[5] && counts[5] <= total)
        #expect(
            try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT n FROM counter;")
                == "\(total)"
        )
    }

    /// What another process that wants to write is told in each phase.
    private func refusals(
        _ journalMode: String
    ) throws -> [ConversionEvent.Phase: Bool] {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode = \(journalMode); CREATE TABLE t (a);\(Fixtures.fill(pages: 300))"
        )
        let (path, refused) = (folder.database, Recorded<[ConversionEvent.Phase: Bool]>([:]))
        _ = try backUp(
            key,
            options: .init(observer: { event in
                guard case .progress(let phase, bytesDone: 0, _) = event,
                    refused.value[phase] == nil
                else { return }
                let result = try? Python.run(
                    Python.connect + """
                        path, key = json.load(sys.stdin)
                        connection = connect(path, key, timeout=0.01)
                        connection.execute("INSERT INTO t VALUES (1)")
                        connection.commit()
                        """,
                    input: [path, key.spelling]
                )
                refused.change { $0[phase] = result?.stderr.contains("is locked") ?? true }
            })
        )
        let phases = refused.value.count
        #expect(
            try SQLCipherShell.run(output, key: key.spelling, "SELECT count(*) FROM t;") == "0"
        )
        #expect(
            try SQLCipherShell.run(path, key: key.spelling, "SELECT count(*) FROM t;")
                == "\(refused.value.values.count { !$0 })"
        )
        #expect(phases > 1)
        return refused.value
    }

    @Test func othersWriteAllTheTimeInWALMode() throws {
        #expect(
            try refusals("wal") == [.copying: false, .comparing: false, .verifying: false]
        )
    }

    @Test func commitOfOthersWaitsForThePagesOnlyInRollbackMode() throws {
        #expect(
            try refusals("delete") == [.copying: true, .comparing: false, .verifying: false]
        )
    }

    @Test func whoHasTheDatabaseAloneIsWaitedFor() throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        let holder = try LockHolder(folder.database, key: key.spelling)
        #expect(throws: EncryptedDatabaseError.locked(path: folder.database)) {
            try backUp(key, options: .init(timeout: 0.2))
        }
        #expect(try folder.names.filter { !$0.hasPrefix("notes.db") } == [])
        _ = try backUp(
            key,
            options: .init(
                timeout: 100,
                observer: { if case .waiting = $0 { try? holder.release() } }
            )
        )
        #expect(try folder.names == ["backup.db", "notes.db"])
    }

    @Test(arguments: ["wal", "delete"])
    func programThatHasItOpenMayItselfBackItUp(_ journalMode: String) throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        try queue.inDatabase { db in
            try db.execute(sql: "PRAGMA journal_mode = \(journalMode); BEGIN IMMEDIATE")
            try db.execute(sql: "INSERT INTO t VALUES ('later')")
            _ = try backUp(key)
            // The lock is still there.
            let other = try Python.run(
                Python.connect + """
                    path, key = json.load(sys.stdin)
                    connect(path, key, timeout=0.01).execute("INSERT INTO t VALUES ('no')")
                    """,
                input: [folder.database, key.spelling]
            )
            #expect(other.stderr.contains("database is locked"))
            try db.execute(sql: "COMMIT")
        }
        #expect(
            try SQLCipherShell.run(output, key: key.spelling, "SELECT a FROM t;") == "zettel"
        )
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 2)
    }

    // MARK: - What Is Refused

    @Test func failuresAreToldAndLeaveNothing() throws {
        let (key, other) = (try TestKey.raw(), try TestKey.raw())
        let path = folder.database
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: path)) { try backUp(key) }
        try folder.write("notes.db", [])
        #expect(throws: EncryptedDatabaseError.empty(path: path)) { try backUp(key) }
        #expect(unlink(path) == 0)
        try Fixtures.encrypted(path, key: key)
        let before = try folder.snapshot().entries["notes.db"]
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) { try backUp(other) }
        #expect(throws: EncryptedDatabaseError.encrypted(path: path)) {
            try DatabaseBackup(path, to: output, form: .plaintext()).run()
        }
        let nowhere = folder.path("nowhere/backup.db")
        #expect(throws: DatabaseConversionError.cannotWrite(path: nowhere, code: ENOENT)) {
            try DatabaseBackup(path, to: nowhere, form: .encrypted(key.key)).run()
        }
        #expect(try folder.names == ["notes.db"])
        for target in ["notes.db", "taken", "link"] {
            try folder.write("taken", "mine".utf8)
            _ = symlink("nowhere", folder.path("link"))
            #expect(throws: DatabaseConversionError.exists(path: folder.path(target))) {
                try DatabaseBackup(
                    path,
                    to: folder.path(target),
                    form: .encrypted(key.key)
                ).run()
            }
        }
        #expect(try folder.names == ["link", "notes.db", "taken"])
        #expect(try folder.data("taken") == Data("mine".utf8))
        #expect(try folder.snapshot().entries["notes.db"] == before)

        let plain = folder.path("plain.db")
        try Fixtures.plaintext(plain)
        #expect(throws: EncryptedDatabaseError.plaintext(path: plain)) {
            try DatabaseBackup(plain, to: output, form: .plaintext(), newKey: key.key).run()
        }
        #expect(throws: EncryptedDatabaseError.plaintext(path: plain)) {
            try DatabaseBackup(plain, to: output, form: .encrypted(key.key)).run()
        }
    }

    /// SQLite's check of such a table fails without a word since its version 3.47.
    @Test func aTableWhoseTokenizerOnlyTheAppHasIsCopied() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            .dbconfig defensive off
            CREATE VIRTUAL TABLE found USING fts5 (text, tokenize = 'porter');
            INSERT INTO found VALUES ('word');
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'porter', 'of_the_app') WHERE name = 'found';
            """
        )
        #expect(try backUp(key).findings == ["no such tokenizer: of_the_app"])
    }

    /// The pages of a large value, the last one above all, are none in which a check of the
    /// structure would find anything.
    @Test(arguments: [2, 150, 299, 300])
    func damagedPageIsNamed(_ page: Int) throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(4012 * 298 + 100));"
        )
        #expect(try folder.databaseData().count == 300 * 4096)
        try folder.damage(at: 4096 * (page - 1) + 2000)
        let damaged = EncryptedDatabaseError.damaged(path: folder.database, pages: [page])
        #expect(throws: damaged) { try backUp(key) }
        #expect(throws: damaged) {
            try DatabaseRestore(
                output,
                from: folder.database,
                form: .encrypted(key.key)
            ).run()
        }
        #expect(try folder.names == ["notes.db"])
    }

    @Test func brokenStructureIsRefusedAndBrokenRulesAreReported() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (p INTEGER REFERENCES parent, n INTEGER CHECK (n > 0));
            PRAGMA foreign_keys = OFF;
            PRAGMA ignore_check_constraints = ON;
            INSERT INTO child VALUES (7, -1), (8, 1);
            """
        )
        let report = try backUp(key)
        #expect(report.findings == ["foreign key of child to parent 2"])
        #expect(unlink(output) == 0)
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET rootpage = 2;
            """
        )
        #expect {
            try backUp(key)
        } throws: { error in
            guard case DatabaseConversionError.copyIsDamaged(folder.database, let finding) = error
            else { return false }
            return finding.contains("2nd reference to page 2")
        }
        #expect(try folder.names == ["notes.db"])
    }

    @Test func valueThatBreaksARuleOfItsTableIsToldAndCopied() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE TABLE t (a);
            INSERT INTO t VALUES (NULL);
            .dbconfig defensive off
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE TABLE t (a NOT NULL)';
            """
        )
        #expect(try backUp(key).findings == ["NULL value in t.a"])
    }

    @Test func fullTextIndexWithoutContentIsNoFinding() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE VIRTUAL TABLE t USING fts4(content="", a);
            INSERT INTO t (docid, a) VALUES (1, 'zettel');
            """
        )
        #expect(try backUp(key).findings == [])
    }

    /// An app keeps such an index up to date itself, and it may be late.
    @Test func fullTextIndexThatIsLateIsToldAndCopied() throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            """
            CREATE TABLE note (a); CREATE VIRTUAL TABLE found USING fts4(content="note", a);
            INSERT INTO note VALUES ('one'), ('two');
            INSERT INTO found (rowid, a) VALUES (1, 'one');
            """
        )
        let report = try backUp(key)
        #expect(report.findings.count == 1)
        #expect(report.findings.first?.contains("main.found") == true, "\(report.findings)")
        let copy = try EncryptedDatabase.open(output, key: key.key)
        #expect(
            try copy.read {
                try Int.fetchAll($0, sql: "SELECT rowid FROM found WHERE found MATCH 'one OR two'")
            } == [1]
        )
    }

    @Test func databaseWithAnUnknownFunctionIsBackedUp() throws {
        let key = try TestKey.raw()
        let function = DatabaseFunction("shout", argumentCount: 1, pure: true) { _ in "!" }
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true, functions: [function])
        )
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE t (a CHECK (shout(a) = '!'), b NOT NULL AS (shout(a)));
                    CREATE INDEX i ON t (shout(a));
                    INSERT INTO t VALUES (1);
                    """
            )
        }
        try queue.close()
        #expect(try backUp(key).findings == ["unknown function: shout()"])
        #expect(unlink(output) == 0)
        #expect(try backUp(key, options: .init(functions: [function])).findings == [])
    }

    // MARK: - Where It Goes

    @Test(
        arguments: [
            "with space.db", "quote's.db", "a\"b.db", "new\nline.db", "ünï✓.db", "100%.db",
            "file:x?mode=ro.db", "-wal", "#;&.db",
        ]
    )
    func pathMayBeOdd(_ name: String) throws {
        let key = try TestKey.raw()
        let path = folder.path(name)
        try Fixtures.encrypted(path, key: key)
        try DatabaseBackup(path, to: path + " copy", form: .encrypted(key.key)).run()
        let back = path + " back"
        try DatabaseRestore(back, from: path + " copy", form: .encrypted(key.key)).run()
        #expect(try folder.names == [name, name + " back", name + " copy"])
        #expect(
            try SQLCipherShell.run(back, key: key.spelling, "SELECT a FROM t;") == "zettel"
        )
    }

    @Test func leftoversOfKilledRunsGoAndNothingElse() throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        let other = [".notes.db-converting-00ff", ".backup.db-converting-xyz", "backup.db-old"]
        let own = [".backup.db-converting-00ff", ".backup.db-converting-00ff-wal"]
        for name in other + own { try folder.write(name, "rest".utf8) }
        _ = try backUp(key)
        #expect(try folder.names == (other + ["backup.db", "notes.db"]).sorted())
    }

    @Test func secondRunToTheSameFileWaitsForTheFirst() throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        let holder = try ChildProcess(
            "flock",
            [output + "-migration.lock", "-c", "echo held; read line"]
        )
        #expect(holder.readLine() == "held")
        try folder.write(".backup.db-converting-00ff", "in use".utf8)
        #expect {
            try backUp(key, options: .init(timeout: 0.1))
        } throws: { error in
            if case DatabaseConversionError.busy(output, _) = error { true } else { false }
        }
        #expect(try folder.names.contains(".backup.db-converting-00ff"))
    }

    // MARK: - Ending It

    @Test(arguments: ConversionEvent.Phase.ofWholeDatabases)
    func cancellationLeavesNothing(_ phase: ConversionEvent.Phase) async throws {
        let key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode = WAL; CREATE TABLE t (a);\(Fixtures.fill(pages: 300))"
        )
        let before = try folder.databaseData()
        let cancellation = Cancellation()
        let backup = DatabaseBackup(
            folder.database,
            to: output,
            form: .encrypted(key.key),
            options: .init(
                cancellation: cancellation,
                observer: { event in
                    if case .progress(phase, bytesDone: 0, _) = event { cancellation.cancel() }
                }
            )
        )
        await #expect(throws: CancellationError.self) {
            try await asyncRun { try backup.run() }
        }
        #expect(try folder.names == ["notes.db"])
        #expect(try folder.databaseData() == before)
    }

    @Test func cancelledTaskEndsIt() async throws {
        let key = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: key)
        let backup = DatabaseBackup(folder.database, to: output, form: .encrypted(key.key))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await asyncRun { try backup.run() }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names == ["notes.db"])
        #expect(try await asyncRun { try backup.run() }.byteCount == 8192)
    }
}
