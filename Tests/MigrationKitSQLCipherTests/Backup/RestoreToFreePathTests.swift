import Foundation
import MigrationKitKeys
import MigrationKitSQLCipher
import TestSupport
import Testing

/// A backup is restored to a path at which there is no database, while another program may make one.
@Suite struct RestoreToFreePathTests {
    private let folder: TemporaryFolder
    private let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try .raw()
        try Fixtures.encrypted(folder.path("backup.db"), key: key)
    }

    private func restore(
        _ observer: (@Sendable (ConversionEvent) -> Void)? = nil
    ) throws {
        try DatabaseRestore(
            folder.database,
            from: folder.path("backup.db"),
            form: .encrypted(key.key),
            options: .init(timeout: 0.3, observer: observer)
        ).run()
    }

    /// While the backup is copied, an app makes its database, which has a row in its log alone.
    @Test(arguments: [false, true])
    func anotherProgramsNewDatabaseStays(hasOrphan: Bool) throws {
        if hasOrphan { try folder.write("notes.db-journal", Data(repeating: 7, count: 512)) }
        let app = try App(folder.database, key)
        #expect(throws: DatabaseConversionError.exists(path: folder.database)) {
            try restore { event in
                if case .progress(.verifying, 0, _) = event { app.makeDatabase() }
            }
        }
        try #require(app.hasMadeIt)
        #expect(try folder.names.contains("notes.db-wal"))
        try app.end()
        let rows = try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT a FROM t;")
        #expect(rows == "the app's")
    }

    @Test func whatADeletedDatabaseLeftGoesIfItHoldsNothing() throws {
        try folder.write("notes.db-journal", Data(repeating: 7, count: 512))
        try folder.write("notes.db-wal", Data(count: 5000))
        try folder.write("notes.db-shm", Data(repeating: 7, count: 32768))
        try restore()
        #expect(try folder.names == ["backup.db", "notes.db"])
        let rows = try SQLCipherShell.run(folder.database, key: key.spelling, "SELECT a FROM t;")
        #expect(rows == "zettel")
    }

    @Test func whatFailsLeavesNothingThere() throws {
        try folder.write("notes.db-journal", Data(repeating: 7, count: 512))
        let cancellation = Cancellation()
        #expect(throws: CancellationError.self) {
            try DatabaseRestore(
                folder.database,
                from: folder.path("backup.db"),
                form: .encrypted(key.key),
                options: .init(cancellation: cancellation) {
                    if case .progress(.verifying, _, _) = $0 { cancellation.cancel() }
                }
            ).run()
        }
        #expect(try folder.names == ["backup.db", "notes.db-journal"])
    }

    /// Another process.
    private final class App: Sendable {
        private let process: ChildProcess
        private let made = Recorded(false)

        var hasMadeIt: Bool { made.value }

        init(_ path: String, _ key: TestKey) throws {
            let program =
                Python.connect + """
                    path, key = json.loads(sys.stdin.readline())
                    sys.stdin.readline()
                    connection = connect(path, key, isolation_level=None)
                    for statement in ["PRAGMA journal_mode = WAL", "CREATE TABLE t(a)",
                                      "INSERT INTO t VALUES ('the app''s')"]:
                        connection.execute(statement).fetchall()
                    print("made", flush=True)
                    sys.stdin.readline()
                    os.kill(os.getpid(), 9)
                    """
            process = try ChildProcess(Python.executable, ["-c", program])
            process.write(
                try JSONSerialization.data(withJSONObject: [path, key.spelling])
            )
            process.write("\n".utf8)
        }

        func makeDatabase() {
            guard !made.value else { return }
            process.write("\n".utf8)
            if process.readLine() == "made" { made.change { $0 = true } }
        }

        func end() throws {
            process.write("\n".utf8)
            _ = try process.finish()
        }
    }
}
