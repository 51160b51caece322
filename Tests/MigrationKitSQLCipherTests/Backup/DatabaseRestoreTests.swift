import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitSQLCipher
import Synchronization
import TestSupport
import Testing

@Suite struct DatabaseRestoreTests {
    let folder: TemporaryFolder
    let key: TestKey
    private var backup: String { folder.path("backup.db") }

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
        _ = try SQLCipherShell.run(
            folder.path("backup.db"),
            key: key.spelling,
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE t (a);
            INSERT INTO t VALUES ('backed up');
            \(Fixtures.fill(pages: 300))
            """
        )
    }

    private func restore(
        newKey: TestKey? = nil,
        keeping original: String? = nil,
        options: RewriteOptions = .init(timeout: 0.3)
    ) throws -> RestoreReport {
        try DatabaseRestore(
            folder.database,
            from: backup,
            form: .encrypted(key.key),
            newKey: newKey?.key,
            options: options
        ).run(keptOriginalPath: original)
    }

    private func rows(_ path: String? = nil, key other: TestKey? = nil) throws -> String {
        try SQLCipherShell.run(
            path ?? folder.database,
            key: (other ?? key).spelling,
            "PRAGMA integrity_check; SELECT a FROM t;"
        )
    }

    // MARK: - What Was There

    /// Such as the file with the key, or a script.
    @Test(arguments: ["5e5e5e5e", "horse battery staple\n", "CREATE TABLE t (a);\n\u{1F511}\n"])
    func aTextIsNotReplaced(_ text: String) throws {
        let long = String(repeating: text, count: 900)
        for content in [text, long] {
            try folder.write("notes.db", content.utf8)
            #expect(throws: EncryptedDatabaseError.notADatabase(path: folder.database)) {
                try restore()
            }
            #expect(try folder.databaseData() == Data(content.utf8))
        }
    }

    /// What is in a restored database's place.
    enum Place: CaseIterable {
        case nothing, empty, oneByte, garbage, plaintext, otherKey, olderVersion
        case damaged, crashedLog, crashedJournal, crashedOlderLog
    }

    private func make(_ place: Place, _ other: TestKey) throws {
        let path = folder.database
        switch place {
        case .nothing: break
        case .empty: try folder.write("notes.db", [])
        case .oneByte: try folder.write("notes.db", [0])
        case .garbage: try folder.write("notes.db", (0..<9999).map { UInt8($0 & 0xff) })
        case .plaintext: try Fixtures.plaintext(path)
        case .otherKey: try Fixtures.encrypted(path, key: other)
        case .olderVersion:
            _ = try SQLCipherShell.run(
                path,
                key: other.spelling,
                compatibility: 3,
                "CREATE TABLE t (a);"
            )
        case .damaged:
            try Fixtures.encrypted(path, key: other)
            try folder.damage(at: 50)
        case .crashedLog:
            try Fixtures.encrypted(path, key: other)
            try Crash.leaveLog(of: path, key: other)
        case .crashedJournal:
            try Fixtures.encrypted(path, key: other)
            try Crash.leaveJournal(of: path, key: other)
        case .crashedOlderLog:
            let start = folder.path("start.db")
            _ = try SQLCipherShell.run(
                start,
                key: other.spelling,
                compatibility: 3,
                """
                PRAGMA journal_mode = WAL;
                PRAGMA wal_autocheckpoint = 0;
                CREATE TABLE t (a);
                INSERT INTO t VALUES ('zettel'), ('from the log');
                .shell cp \(start) \(path); cp \(start)-wal \(path)-wal
                """
            )
            try #require(unlink(start) == 0)
        }
    }

    @Test(arguments: Place.allCases)
    func whateverWasThereIsReplaced(_ place: Place) throws {
        let other = try TestKey.raw()
        try make(place, other)
        let before = try folder.snapshot().entries["backup.db"]
        let report = try restore()
        #expect(report.hasReplaced == (place != .nothing))
        #expect(report.path == folder.database && report.originalPath == nil)
        #expect(report.findings == [])
        #expect(try folder.names == ["backup.db", "notes.db"])
        #expect(folder.mode("notes.db") == 0o600)
        #expect(try rows() == "ok\nbacked up")
        #expect(try folder.snapshot().entries["backup.db"] == before)
        // A salt of its own, as a backup has one.
        #expect(try folder.databaseData().prefix(16) != folder.data("backup.db").prefix(16))
    }

    /// What its journals held is in the file that is kept, and in the one that is left where the
    /// restoring fails in the end, although nobody gave the key.
    @Test(arguments: [Place.crashedLog, .crashedJournal, .crashedOlderLog, .otherKey, .garbage])
    func oldFileIsWholeWithoutItsKey(_ place: Place) throws {
        let other = try TestKey.raw()
        try make(place, other)
        let cancellation = Cancellation()
        #expect(throws: CancellationError.self) {
            try restore(
                options: .init(
                    cancellation: cancellation,
                    observer: { event in
                        if case .progress(.verifying, bytesDone: 0, _) = event {
                            cancellation.cancel()
                        }
                    }
                )
            )
        }
        // The index of a log is made anew by whoever needs it.
        #expect(
            try folder.names.filter { $0 != "notes.db-shm" } == ["backup.db", "notes.db"]
        )
        let old = try folder.databaseData()
        let report = try restore(keeping: folder.path("old.db"))
        #expect(report.originalPath == folder.path("old.db"))
        #expect(try folder.data("old.db") == old)
        #expect(try rows() == "ok\nbacked up")
        guard place != .garbage else { return }
        #expect(
            try SQLCipherShell.run(
                folder.path("old.db"),
                key: other.spelling,
                compatibility: place == .crashedOlderLog ? 3 : nil,
                "PRAGMA integrity_check; SELECT a FROM t;"
            )
                == (place == .crashedLog || place == .crashedOlderLog
                    ? "ok\nzettel\nfrom the log" : "ok\nzettel")
        )
    }

    @Test func everythingIsRestoredUnderAnotherKey() throws {
        for (store, new) in zip(RichStore.all, try TestKey.each()) {
            #expect(unlink(backup) == 0)
            try store.make(backup, key: key.spelling)
            _ = try restore(newKey: new)
            #expect(
                try RichStore.content(folder.database, key: new.spelling)
                    == RichStore.content(backup, key: key.spelling)
            )
        }
        #expect(try folder.names == ["backup.db", "notes.db"])
    }

    @Test func plaintextBackupMakesAPlaintextDatabase() throws {
        #expect(unlink(backup) == 0)
        try RichStore.all[1].make(backup, key: nil)
        try DatabaseRestore(folder.database, from: backup, form: .plaintext()).run()
        #expect(
            try RichStore.content(folder.database, key: nil)
                == RichStore.content(backup, key: nil)
        )
        #expect(throws: EncryptedDatabaseError.plaintext(path: backup)) { try restore() }
    }

    @Test func linkStays() throws {
        try folder.makeFolder("real")
        let target = folder.path("real/store.db")
        try Fixtures.encrypted(target, key: TestKey.raw())
        #expect(symlink("real/store.db", folder.database) == 0)
        #expect(try restore().path == target)
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: folder.database)
                == "real/store.db"
        )
        #expect(try rows(target) == "ok\nbacked up")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("real")).count == 1)
        // One that leads nowhere may lead to a disk that isn't mounted.
        #expect(unlink(target) == 0)
        #expect {
            try restore()
        } throws: { error in
            if case EncryptedDatabaseError.cannotCreate = error { true } else { false }
        }
    }

    // MARK: - The Backup

    @Test func backupMayHaveALogBesideItAndKeepsIt() throws {
        try Crash.leaveLog(of: backup, key: key)
        let before = try folder.snapshot().entries
        _ = try restore()
        #expect(try rows() == "ok\nbacked up\nfrom the log")
        #expect(
            try folder.snapshot().entries.filter { $0.key.hasPrefix("backup.db") }
                == before.filter { $0.key.hasPrefix("backup.db") }
        )
    }

    @Test func unusableBackupIsRefusedAndNothingChanged() throws {
        try Fixtures.encrypted(folder.database, key: TestKey.raw())
        let other = try TestKey.raw()
        let good = try folder.data("backup.db")
        var flipped = good
        flipped[4096 * 100 + 50] ^= 1
        let path = backup
        let cases: [(Data, EncryptedDatabaseError)] = [
            (Data(), .empty(path: path)),
            (Data([1]), .notADatabase(path: path)),
            (good.prefix(1000), .notADatabase(path: path)),
            (flipped, .damaged(path: path, pages: [101])),
            (good.prefix(4096 * 100), .damaged(path: path, pages: [])),
        ]
        for (data, error) in cases {
            try folder.write("backup.db", data)
            let before = try folder.snapshot().entries.filter { $0.key != "." }
            #expect(throws: error) { try restore() }
            #expect(try folder.snapshot().entries.filter { $0.key != "." } == before)
        }
        try folder.write("backup.db", good)
        let before = try folder.snapshot().entries.filter { $0.key != "." }
        #expect(throws: EncryptedDatabaseError.wrongKey(path: path)) {
            try DatabaseRestore(folder.database, from: path, form: .encrypted(other.key)).run()
        }
        #expect(throws: EncryptedDatabaseError.encrypted(path: path)) {
            try DatabaseRestore(folder.database, from: path, form: .plaintext()).run()
        }
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: folder.path("none"))) {
            try DatabaseRestore(
                folder.database,
                from: folder.path("none"),
                form: .encrypted(key.key)
            ).run()
        }
        for itself in [path, folder.path("link.db")] {
            _ = link(path, folder.path("link.db"))
            #expect(throws: DatabaseConversionError.sameFile(path: itself)) {
                try DatabaseRestore(itself, from: path, form: .encrypted(key.key)).run()
            }
        }
        #expect(unlink(folder.path("link.db")) == 0)
        #expect(throws: DatabaseConversionError.exists(path: path)) { try restore(keeping: path) }
        #expect(try folder.snapshot().entries.filter { $0.key != "." } == before)
    }

    @Test func unfinishedChangeOfTheBackupIsNotRestored() throws {
        #expect(unlink(backup) == 0)
        try Fixtures.encrypted(backup, key: key)
        try Crash.leaveJournal(of: backup, key: key)
        let before = try folder.snapshot().entries.filter { $0.key != "." }
        #expect(throws: EncryptedDatabaseError.needsRecovery(path: backup)) { try restore() }
        #expect(try folder.snapshot().entries.filter { $0.key != "." } == before)
    }

    @Test(arguments: ["wal", "delete"])
    func backupThatIsWrittenMeanwhileIsNotRestored(_ journalMode: String) throws {
        _ = try SQLCipherShell.run(
            backup,
            key: key.spelling,
            "PRAGMA journal_mode = \(journalMode);"
        )
        let (path, spelling, refused) = (backup, key.spelling, Recorded(false))
        func run() throws {
            _ = try restore(
                options: .init(
                    timeout: 0.3,
                    observer: { event in
                        guard case .progress(.copying, bytesDone: 0, _) = event else { return }
                        let result = try? Python.run(
                            Python.connect + """
                                path, key = json.load(sys.stdin)
                                connection = connect(path, key, timeout=0.01)
                                connection.execute("INSERT INTO t VALUES ('later')")
                                connection.commit()
                                """,
                            input: [path, spelling]
                        )
                        refused.change { $0 = result?.stderr.contains("is locked") ?? false }
                    }
                )
            )
        }
        if journalMode == "wal" {
            #expect(throws: DatabaseConversionError.changedMeanwhile(path: path)) { try run() }
            #expect(!refused.value)
            #expect(access(folder.database, F_OK) != 0)
        } else {
            try run()
            #expect(refused.value)
            #expect(try rows() == "ok\nbacked up")
        }
    }

    // MARK: - Others

    /// What another process may have of the database that is replaced.
    enum Hold: String, CaseIterable {
        case write = "connection.execute('BEGIN IMMEDIATE')"
        case read = "connection.execute('BEGIN'); connection.execute('SELECT a FROM t').fetchall()"
        case idle = "connection.execute('SELECT a FROM t').fetchall()"
    }

    @Test(arguments: Hold.allCases, ["delete", "wal"])
    func whoHasItOpenIsNamedAndWaitedFor(_ hold: Hold, _ journalMode: String) throws {
        let other = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: other)
        _ = try SQLCipherShell.run(
            folder.database,
            key: other.spelling,
            "PRAGMA journal_mode = \(journalMode);"
        )
        let process = try ChildProcess(
            Python.executable,
            [
                "-c",
                Python.connect + """
                    path, key = json.loads(sys.stdin.readline())
                    connection = connect(path, key, isolation_level=None)
                    \(hold.rawValue)
                    print("holds", flush=True)
                    sys.stdin.readline()
                    if connection.in_transaction:
                        if "IMMEDIATE" in \"\"\"\(hold.rawValue)\"\"\":
                            connection.execute("INSERT INTO t VALUES ('of another')")
                        connection.execute("COMMIT")
                    connection.close()
                    """,
            ]
        )
        process.write(
            try JSONSerialization.data(withJSONObject: [folder.database, other.spelling])
        )
        process.write("\n".utf8)
        #expect(process.readLine() == "holds")
        #expect {
            try restore()
        } throws: { error in
            guard case DatabaseConversionError.inUse(folder.database, let processes) = error else {
                return false
            }
            return processes.map(\.identifier) == [process.processIdentifier]
        }
        let waited = Atomic(false)
        let kept = folder.path("old.db")
        _ = try restore(
            keeping: kept,
            options: .init(
                timeout: 60,
                observer: { event in
                    guard case .waiting(let processes) = event,
                        processes.map(\.identifier) == [process.processIdentifier],
                        !waited.exchange(true, ordering: .relaxed)
                    else { return }
                    process.write("go on\n".utf8)
                }
            )
        )
        #expect(try process.finish().status == 0)
        // What it had still committed is in the file that is kept.
        #expect(
            try rows(kept, key: other) == (hold == .write ? "ok\nzettel\nof another" : "ok\nzettel")
        )
        #expect(try rows() == "ok\nbacked up")
        #expect(try folder.names == ["backup.db", "notes.db", "old.db"])
    }

    @Test(arguments: ["delete", "wal"])
    func nobodyGetsInWhileItRuns(_ journalMode: String) throws {
        let other = try TestKey.raw()
        try Fixtures.encrypted(folder.database, key: other)
        _ = try SQLCipherShell.run(
            folder.database,
            key: other.spelling,
            "PRAGMA journal_mode = \(journalMode);"
        )
        let (path, refused) = (folder.database, Recorded<Set<ConversionEvent.Phase>>([]))
        _ = try restore(
            options: .init(
                timeout: 60,
                observer: { event in
                    guard case .progress(let phase, bytesDone: 0, _) = event else { return }
                    let result = try? Python.run(
                        Python.connect + """
                            path, key = json.load(sys.stdin)
                            connect(path, key, timeout=0.01).execute("INSERT INTO t VALUES (1)")
                            """,
                        input: [path, other.spelling]
                    )
                    if result?.stderr.contains("is locked") == true {
                        refused.change { $0.insert(phase) }
                    }
                }
            )
        )
        #expect(refused.value == [.copying, .comparing, .verifying])
        #expect(try folder.names == ["backup.db", "notes.db"])
    }

    @Test func ownConnectionHasToBeClosed() throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(createsFile: true)
        )
        #expect(throws: DatabaseConversionError.openHere(path: folder.database)) { try restore() }
        try queue.close()
        _ = try restore()
    }

    // MARK: - Ending It

    @Test(arguments: ConversionEvent.Phase.ofWholeDatabases)
    func cancellationLeavesTheDatabaseAsItWas(_ phase: ConversionEvent.Phase) async throws {
        try Fixtures.encrypted(folder.database, key: TestKey.raw())
        let before = try folder.databaseData()
        let cancellation = Cancellation()
        let restore = DatabaseRestore(
            folder.database,
            from: backup,
            form: .encrypted(key.key),
            options: .init(
                cancellation: cancellation,
                observer: { event in
                    if case .progress(phase, bytesDone: 0, _) = event { cancellation.cancel() }
                }
            )
        )
        await #expect(throws: CancellationError.self) {
            try await asyncRun { try restore.run() }
        }
        #expect(try folder.names == ["backup.db", "notes.db"])
        #expect(try folder.databaseData() == before)
        let again = DatabaseRestore(folder.database, from: backup, form: .encrypted(key.key))
        #expect(try await asyncRun { try again.run() }.hasReplaced)
    }
}
