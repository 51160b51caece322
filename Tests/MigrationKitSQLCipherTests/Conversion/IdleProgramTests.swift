import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A program that has the database open, and does nothing just now, is waited for without a lock.
@Suite struct IdleProgramTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
        try Fixtures.encrypted(folder.database, key: key)
    }

    /// Does a rewriting of the database while the program writes a row, without waiting for a lock,
    /// and then ends.
    private func expectFree(
        _ rewrite: @escaping @Sendable (RewriteOptions) throws -> Void
    ) throws {
        let program =
            Python.connect + """
                path, key = json.loads(sys.stdin.readline())
                connection = connect(path, key, isolation_level=None, timeout=0)
                connection.execute("SELECT * FROM t").fetchall()
                print("open", flush=True)
                sys.stdin.readline()
                connection.execute("INSERT INTO t VALUES ('meanwhile')")
                print("written", flush=True)
                sys.stdin.readline()
                """
        let app = try ChildProcess(Python.executable, ["-c", program])
        app.write(
            try JSONSerialization.data(withJSONObject: [folder.database, key.spelling])
        )
        app.write("\n".utf8)
        try #require(app.readLine() == "open")
        let isWaiting = Recorded(false)
        let work = Background {
            try rewrite(
                .init(timeout: 60) { event in
                    if case .waiting = event { isWaiting.change { $0 = true } }
                }
            )
        }
        try wait(for: "the rewriting to wait") { isWaiting.value }
        app.write("\n".utf8)
        #expect(app.readLine() == "written")
        app.write("\n".utf8)
        #expect(try app.finish().status == 0)
        try work.value()
    }

    /// Does a rewriting of the database which a program opens when the new file is being looked
    /// through. It writes a row then, without waiting for a lock, and ends.
    private func expectFreeAtTheEnd(
        _ rewrite: @escaping @Sendable (RewriteOptions) throws -> Void
    ) throws {
        let program =
            Python.connect + """
                path, key = json.loads(sys.stdin.readline())
                sys.stdin.readline()
                connection = connect(path, key, isolation_level=None, timeout=0)
                print("open", flush=True)
                sys.stdin.readline()
                connection.execute("INSERT INTO t VALUES ('meanwhile')")
                print("written", flush=True)
                sys.stdin.readline()
                """
        let app = try ChildProcess(Python.executable, ["-c", program])
        app.write(
            try JSONSerialization.data(withJSONObject: [folder.database, key.spelling])
        )
        app.write("\n".utf8)
        let (isOpen, isWaiting) = (Recorded(false), Recorded(false))
        let work = Background {
            try rewrite(
                .init(timeout: 60) { event in
                    switch event {
                    case .progress(.verifying, _, _) where !isOpen.value:
                        app.write("\n".utf8)
                        #expect(app.readLine() == "open")
                        isOpen.change { $0 = true }
                    case .waiting where isOpen.value:
                        isWaiting.change { $0 = true }
                    default:
                        break
                    }
                }
            )
        }
        let deadline = ContinuousClock.now + .seconds(50)
        while !isWaiting.value, ContinuousClock.now < deadline { usleep(10_000) }
        try #require(isWaiting.value)
        app.write("\n".utf8)
        #expect(app.readLine() == "written")
        app.write("\n".utf8)
        #expect(try app.finish().status == 0)
        try work.value()
    }

    @Test(arguments: ["DELETE", "WAL"])
    func rekeyWaitsWithoutALockAtTheEndAsWell(journalMode: String) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            "PRAGMA journal_mode = \(journalMode);"
        )
        let new = try TestKey.raw()
        let (path, old) = (folder.database, key.key)
        let original = folder.path("original.db")
        try expectFreeAtTheEnd {
            try DatabaseConversion.rekey(path, from: old, to: new.key, options: $0)
                .run(keptOriginalPath: original)
        }
        let rows = try SQLCipherShell.run(path, key: new.spelling, "SELECT a FROM t;")
        #expect(rows == "zettel\nmeanwhile")
        let kept = try SQLCipherShell.run(original, key: key.spelling, "SELECT a FROM t;")
        #expect(kept == "zettel\nmeanwhile")
        #expect(try folder.names == ["notes.db", "original.db"])
    }

    @Test func rekeyWaitsWithoutALock() throws {
        let new = try TestKey.raw()
        let (path, old) = (folder.database, key.key)
        try expectFree {
            try DatabaseConversion.rekey(path, from: old, to: new.key, options: $0).run()
        }
        let rows = try SQLCipherShell.run(path, key: new.spelling, "SELECT a FROM t;")
        #expect(rows == "zettel\nmeanwhile")
    }

    @Test(arguments: [false, true])
    func restoreWaitsWithoutALock(atTheEndAsWell: Bool) throws {
        let backup = folder.path("backup.db")
        let (path, key) = (folder.database, key)
        try Fixtures.encrypted(backup, key: key)
        let original = folder.path("original.db")
        let expectFree = atTheEndAsWell ? expectFreeAtTheEnd : expectFree
        try expectFree { options in
            try DatabaseRestore(
                path,
                from: backup,
                form: .encrypted(key.key),
                options: options
            ).run(keptOriginalPath: original)
        }
        #expect(try SQLCipherShell.run(path, key: key.spelling, "SELECT a FROM t;") == "zettel")
        let kept = try SQLCipherShell.run(original, key: key.spelling, "SELECT a FROM t;")
        #expect(kept == "zettel\nmeanwhile")
    }
}
