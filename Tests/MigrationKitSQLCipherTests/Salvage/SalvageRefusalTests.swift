import Foundation
import GRDB
import MigrationKitKeys
import MigrationKitRescue
import MigrationKitSQLCipher
import TestSupport
import Testing

/// What a salvage refuses, and that it leaves everything as it was.
@Suite struct SalvageRefusalTests {
    let folder: TemporaryFolder
    let key: TestKey

    init() throws {
        folder = try TemporaryFolder()
        key = try TestKey.raw()
    }

    private func salvage(
        _ form: DatabaseForm? = nil,
        to output: String = "new.db",
        options: RewriteOptions = .init(timeout: 0.2)
    ) throws -> SalvageReport {
        try DatabaseSalvage(
            folder.database,
            to: folder.path(output),
            form: form ?? .encrypted(key.key),
            options: options
        ).run()
    }

    @Test func whatIsThereIsNeverReplaced() throws {
        try Fixtures.encrypted(folder.database, key: key)
        try folder.write("new.db", "somebody's".utf8)
        let before = try folder.databaseData()
        for output in ["new.db", "notes.db"] {
            #expect(throws: DatabaseConversionError.exists(path: folder.path(output))) {
                try salvage(to: output)
            }
        }
        #expect(throws: DatabaseConversionError.cannotWrite(path: folder.path("a/b"), code: ENOENT))
        {
            try salvage(to: "a/b")
        }
        #expect(try folder.databaseData() == before)
        #expect(try folder.names == ["new.db", "notes.db"])
    }

    @Test func otherFilesAreTold() throws {
        #expect(throws: EncryptedDatabaseError.noSuchFile(path: folder.database)) { try salvage() }
        try folder.write("notes.db", [])
        #expect(throws: EncryptedDatabaseError.empty(path: folder.database)) { try salvage() }
        try folder.write("notes.db", (0..<8192).map { _ in UInt8.random(in: 65...90) })
        #expect(throws: DatabaseSalvageError.noDatabase(path: folder.database)) {
            try salvage(.plaintext())
        }
        #expect(throws: DatabaseSalvageError.opensNothing(path: folder.database)) {
            try salvage()
        }
        #expect(unlink(folder.database) == 0)
        try Fixtures.plaintext(folder.database)
        #expect(throws: EncryptedDatabaseError.plaintext(path: folder.database)) { try salvage() }
        #expect(try folder.names == ["notes.db"])
    }

    @Test func whoHasItOpenIsNamed() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let other = try ChildProcess(
            "bash",
            ["-c", "exec 9<>\"$1\"; echo open; read line", "bash", folder.database]
        )
        try #require(other.readLine() == "open")
        #expect {
            try salvage()
        } throws: { error in
            guard case DatabaseConversionError.inUse(folder.database, let processes) = error else {
                return false
            }
            return processes.map(\.identifier) == [other.processIdentifier]
        }
        other.write("go on\n".utf8)
        #expect(try other.finish().status == 0)
        let queue = try EncryptedDatabase.open(folder.database, key: key.key)
        #expect(throws: DatabaseConversionError.openHere(path: folder.database)) { try salvage() }
        try queue.close()
        let isComplete = try salvage().isComplete
        #expect(isComplete)
    }

    @Test func whatIsWrittenMeanwhileEndsIt() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let path = folder.database
        #expect(throws: DatabaseConversionError.changedMeanwhile(path: path)) {
            try salvage(
                options: .init(
                    observer: { event in
                        guard case .progress(.verifying, bytesDone: 0, bytesTotal: _) = event
                        else { return }
                        _ = try? TestSupport.run(
                            "bash",
                            ["-c", "printf x >> \"$1\"", "bash", path]
                        )
                    }
                )
            )
        }
        #expect(try folder.names == ["notes.db"])
    }

    @Test(arguments: [ConversionEvent.Phase.reading, .copying, .verifying])
    func cancelledSalvageLeavesNothing(_ phase: ConversionEvent.Phase) throws {
        _ = try SQLCipherShell.run(
            folder.database,
            key: key.spelling,
            Fixtures.fill(pages: 300)
        )
        let cancellation = Cancellation()
        #expect(throws: CancellationError.self) {
            try salvage(
                options: .init(
                    cancellation: cancellation,
                    observer: { event in
                        if case .progress(phase, _, _) = event { cancellation.cancel() }
                    }
                )
            )
        }
        #expect(try folder.names == ["notes.db"])
    }

    @Test func cancelledTaskEndsIt() async throws {
        _ = try SQLCipherShell.run(folder.database, key: key.spelling, Fixtures.fill(pages: 300))
        let salvage = DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key)
        )
        let task = Task { try await asyncRun { try salvage.run() } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try folder.names == ["notes.db"])
    }

    @Test func otherKeyOpensTheNewFileAlone() throws {
        try Fixtures.encrypted(folder.database, key: key)
        let new = try TestKey.passphrase()
        try DatabaseSalvage(
            folder.database,
            to: folder.path("new.db"),
            form: .encrypted(key.key),
            newKey: new.key
        ).run()
        #expect(folder.mode("new.db") == 0o600)
        let queue = try EncryptedDatabase.open(folder.path("new.db"), key: new.key)
        #expect(try queue.read { try String.fetchAll($0, sql: "SELECT a FROM t") } == ["zettel"])
        #expect(throws: EncryptedDatabaseError.wrongKey(path: folder.path("new.db"))) {
            try EncryptedDatabase.open(folder.path("new.db"), key: key.key)
        }
    }

    /// What the schema needs and this program hasn't is told, and the rows are kept.
    @Test func whatCannotBeMadeIsTold() throws {
        let queue = try EncryptedDatabase.open(
            folder.database,
            key: key.key,
            options: .init(
                createsFile: true,
                collations: [DatabaseCollation("phonebook") { $0.compare($1) }]
            )
        )
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE name (n TEXT UNIQUE COLLATE phonebook);
                    CREATE TABLE other (n TEXT);
                    CREATE INDEX other_n ON other (n COLLATE phonebook);
                    INSERT INTO name VALUES ('a'), ('b');
                    INSERT INTO other VALUES ('c');
                    """
            )
        }
        try queue.close()
        let report = try salvage()
        #expect(Set(report.unmade.map(\.name)) == ["name", "other_n"])
        #expect(report.lostAndFound?.rowCount == 2)
        let isComplete = report.isComplete
        #expect(!isComplete)
        let new = try EncryptedDatabase.open(folder.path("new.db"), key: key.key)
        let found = try new.read { try String.fetchAll($0, sql: "SELECT c0 FROM lost_and_found") }
        #expect(found == ["a", "b"])
        let known = try salvage(
            to: "known.db",
            options: .init(collations: [DatabaseCollation("phonebook") { $0.compare($1) }])
        )
        let isKnownComplete = known.isComplete
        #expect(isKnownComplete)
    }
}
