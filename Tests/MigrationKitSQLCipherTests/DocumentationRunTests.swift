import DocumentationExamples
import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitTestSupport
import MigrationKitSQLCipher
import SecretService
import TestSupport
import Testing

/// The Swift code of the documentation does what it says, on rows with NULLs and duplicates, at a first
/// launch, and on a store of a newer version.
@Suite struct DocumentationRunTests {
    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
    }

    private func code(_ page: String, _ number: Int = 1) throws -> String {
        try DocumentationPage("Documentation/\(page).md").code("swift", number)
    }

    private func expectCompiled(_ block: String, in file: String) throws {
        let path = PackageFolder.path("Tests/DocumentationExamples/\(file).swift")
        let compiled = try String(contentsOfFile: path, encoding: .utf8)
        func words(_ text: String) -> String {
            text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        #expect(words(compiled).contains(words(block)), "\(file)")
    }

    private func rows(_ sql: String) throws -> [String] {
        try queue.read { db in
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { $0.isNull ? "NULL" : "\($0)" }.joined(separator: "|")
            }
        }
    }

    // MARK: - Batches.md

    @Test func columnIsFilledInBatches() throws {
        try expectCompiled(code("Batches"), in: "Batches")
        let notes = step(
            "0001_notes",
            """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT, size INTEGER);
            INSERT INTO notes (body) VALUES ('milk'), (NULL), ('milk'), ('');
            """
        )
        let runner = try GRDBMigrationRunner(steps: [notes, fillSize()])
        for _ in 0..<2 {
            try runner.migrate(in: queue)
            #expect(try rows("SELECT size FROM notes") == ["4", "NULL", "4", "0"])
        }
        try runner.rollbackLastMigration(in: queue)
        #expect(
            try rows("SELECT body, size FROM notes WHERE id < 3") == ["\"milk\"|NULL", "NULL|NULL"]
        )
    }

    // MARK: - lint/cascade-deletes.md, lint/check-incomplete.md, Linting.md

    @Test func rebuildKeepsTheChildrenUnlessForeignKeysAreImmediate() throws {
        let sql = try DocumentationPage("Documentation/lint/cascade-deletes.md").code("sql")
        for number in [1, 2] {
            let block = try code("lint/cascade-deletes", number)
            let call = block.split(separator: "\n").last.map(String.init) ?? ""
            try expectCompiled(call, in: "LintPages")
        }
        try expectCompiled("let report = try MigrationLint(steps: steps).report()", in: "LintPages")
        #expect(
            try code("Linting").contains("let report = try MigrationLint(steps: steps).report()")
        )

        let steps = stepsThatRebuildLists { try $0.execute(sql: sql) }
        let lists = step(
            "0001_lists",
            """
            CREATE TABLE lists (id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE items (id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES lists (id) ON DELETE CASCADE);
            """
        )
        let found = try lintSteps([lists, steps.found]).findings.map(\.rule)
        let safe = try lintSteps([lists, steps.safe]).findings.map(\.rule)
        #expect(found.contains(.cascadeDeletes) && !safe.contains(.cascadeDeletes))

        try GRDBMigrationRunner(steps: [lists]).migrate(in: queue)
        try queue.write {
            try $0.execute(
                sql: """
                    INSERT INTO lists (title) VALUES ('a'), (NULL), ('a');
                    INSERT INTO items (list_id) VALUES (1), (NULL), (3), (3);
                    """
            )
        }
        try GRDBMigrationRunner(steps: [lists, steps.safe]).migrate(in: queue)
        #expect(try rows("SELECT list_id FROM items") == ["1", "NULL", "3", "3"])
        #expect(try rows("SELECT title FROM lists") == ["\"a\"", "NULL", "\"a\""])
    }

    @Test func stepBringsItsFunctionAlong() throws {
        try expectCompiled(code("lint/check-incomplete"), in: "LintPages")
        let notes = step(
            "0001_notes",
            """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, stem TEXT);
            INSERT INTO notes (title) VALUES ('milk'), (NULL), ('milk');
            """
        )
        let stem = DatabaseFunction("stem", argumentCount: 1, pure: true) { values in
            String.fromDatabaseValue(values[0]).map { String($0.prefix(2)) }
        }
        try GRDBMigrationRunner(steps: [notes, stepWithItsFunction(stem)]).migrate(in: queue)
        #expect(try rows("SELECT stem FROM notes") == ["\"mi\"", "NULL", "\"mi\""])
    }

    // MARK: - Rebuilding.md

    @Test func rebuildsKeepWhatTheyDontDrop() throws {
        let notes = step(
            "0001_notes",
            """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT, stars TEXT);
            CREATE INDEX notes_color ON notes (color);
            INSERT INTO notes (title, color, stars) VALUES ('A', 'red', '3'), ('A', NULL, NULL), ('', 'red', '3');
            """
        )
        let smaller = MigrationStep<Database>(identifier: "0002_smaller") {
            try smallerChanges(in: $0)
        }
        try GRDBMigrationRunner(steps: [notes, smaller]).migrate(in: queue)
        #expect(
            try rows("SELECT title, color, stars, slug FROM notes") == [
                "\"A\"|\"red\"|3|\"a\"", "\"A\"|NULL|NULL|\"a\"", "\"\"|\"red\"|3|\"\"",
            ]
        )
        // A note without a title is refused, and nothing has changed.
        let other = try DatabaseQueue()
        let untitled = step(
            "0001_notes",
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, stars TEXT)"
        )
        try GRDBMigrationRunner(steps: [untitled]).migrate(in: other)
        try other.write { try $0.execute(sql: "INSERT INTO notes (title) VALUES ('a'), (NULL)") }
        #expect(throws: (any Error).self) {
            try GRDBMigrationRunner(steps: [untitled, smaller]).migrate(in: other)
        }
        #expect(try other.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM notes") } == 2)
    }

    @Test func rebuildGivesATitleToNotesWithoutOne() throws {
        let notes = step(
            "0001_notes",
            """
            CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT, color TEXT);
            CREATE INDEX notes_color ON notes (color);
            INSERT INTO notes (title, color) VALUES ('a', 'red'), (NULL, NULL), ('a', 'red');
            """
        )
        let rebuild = MigrationStep<Database>(identifier: "0002_rebuild") {
            try dropAndRequire(in: $0)
        }
        try GRDBMigrationRunner(steps: [notes, rebuild]).migrate(in: queue)
        #expect(try rows("SELECT * FROM notes") == ["1|\"a\"", "2|\"\"", "3|\"a\""])
    }

    @Test func rebuildThatRenamesAColumnKeepsItsValuesOrFails() throws {
        let notes = step("0001_notes", "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        let rebuild = MigrationStep<Database>(identifier: "0002_rename") {
            try renameAndRequire(in: $0)
        }
        for text in ["'b'", "NULL"] {
            let queue = try DatabaseQueue()
            try GRDBMigrationRunner(steps: [notes]).migrate(in: queue)
            try queue.write {
                try $0.execute(sql: "INSERT INTO notes (text) VALUES ('a'), ('a'), (\(text))")
            }
            let runner = try GRDBMigrationRunner(steps: [notes, rebuild])
            if text == "NULL" {
                #expect(throws: (any Error).self) { try runner.migrate(in: queue) }
            } else {
                try runner.migrate(in: queue)
            }
            let column = text == "NULL" ? "text" : "body"
            let texts = try queue.read {
                try String?.fetchAll($0, sql: "SELECT \(column) FROM notes ORDER BY id")
            }
            #expect(texts == ["a", "a", text == "NULL" ? nil : "b"])
        }
    }

    // MARK: - Testing.md

    @Test func plantedRowsAreMissed() throws {
        let notes = step(
            "0001_create_notes",
            "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT)"
        )
        let kept = step(
            "0002_more",
            "CREATE TABLE more (id INTEGER PRIMARY KEY)",
            down: "DROP TABLE more"
        )
        let lost = step("0002_lost", "DELETE FROM notes WHERE title = 'Lisbon'")
        try checkNotes(MigrationCheck(steps: [notes, kept]))
        #expect(throws: (any Error).self) { try checkNotes(MigrationCheck(steps: [notes, lost])) }
    }

    // MARK: - UserVersion.md

    @Test func databaseThatCodeHasMigratedIsTakenOver() throws {
        let folder = try TemporaryFolder()
        try expectCompiled(code("UserVersion"), in: "UserVersion")
        try folder.makeFolder("migrations")
        try folder.write(
            "migrations/0007_schema.sql",
            "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT); PRAGMA user_version = 7;".utf8
        )
        try folder.write(
            "migrations/0008_pin.sql",
            "ALTER TABLE note ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;".utf8
        )
        try expectChild("takesOver", in: folder)
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil)) func takesOver() throws {
        // New; left by code at version 7, with rows; and taken over already.
        try migrateFromUserVersion(queue)
        #expect(try rows("PRAGMA user_version") == ["7"])
        let code = try DatabaseQueue()
        try code.write {
            try $0.execute(
                sql: """
                    CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT);
                    INSERT INTO note (title) VALUES ('a'), (NULL), ('a');
                    PRAGMA user_version = 7;
                    """
            )
        }
        for _ in 0..<2 {
            try migrateFromUserVersion(code)
            let count = try code.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM note WHERE pinned = 0")
            }
            #expect(count == 3)
        }
    }

    // MARK: - Embedding.md, FirstLaunch.md

    @Test func storeIsLaunchedWithAKeyOfTheDesktop() throws {
        let secrets = try PrivateSecretService()
        try expectChild("launches", in: TemporaryFolder(), secrets.environment)
    }

    @Test(.enabled(if: TestInOwnProcess.arguments != nil)) func launches() async throws {
        let folder = FileManager.default.currentDirectoryPath
        // The first launch makes the store, and the next ones find what is in it.
        for count in 1...3 {
            let path = "\(folder)/embedded.db"
            let database =
                count == 1
                ? try await asyncLaunch(path: path) : try await blockingLaunch(path: path)
            try await database.write {
                try $0.execute(sql: "INSERT INTO notes (title) VALUES ('a')")
            }
            let found = try await database.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM notes")
            }
            #expect(found == count)
            try database.close()
        }
        try await launchesAnotherStore(in: folder)
    }

    /// FirstLaunch.md: made, opened again, and opened by an older version.
    private func launchesAnotherStore(in folder: String) async throws {
        // Its key goes by the same name.
        try FileManager.default.removeItem(atPath: "\(folder)/embedded.db")
        let first = step("0001_note", "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT)")
        let second = step("0002_lost", "ALTER TABLE note RENAME TO notes")
        for steps in [[first], [first], [first, second]] {
            let runner = try GRDBMigrationRunner(steps: steps)
            guard case .open(let database) = try await launch(in: folder, with: runner) else {
                Issue.record("it isn't opened")
                return
            }
            try database.close()
        }
        let path = "\(folder)/notes.db"
        let before = try Data(contentsOf: URL(filePath: path))
        let launched = try await launch(in: folder, with: GRDBMigrationRunner(steps: [first]))
        guard case .ask(let question) = launched else {
            Issue.record("an older version opens it")
            return
        }
        #expect(question.hasPrefix("A newer version"))
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        try await keepsCopiesAndGetsTheKeyBack(in: folder)
    }

    /// FirstLaunch.md: from plaintext, with the key that is there; the key is lost, and comes back.
    private func keepsCopiesAndGetsTheKeyBack(in folder: String) async throws {
        let path = "\(folder)/notes.db"
        for name in ["notes.db", "notes.db-wal", "notes.db-shm"] {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
        let plain = try EncryptedDatabase.openPlaintext(path, options: .init(createsFile: true))
        try await plain.write {
            try $0.execute(sql: "CREATE TABLE old (a); INSERT INTO old VALUES (7)")
        }
        try plain.close()
        let runner = try GRDBMigrationRunner(steps: [step("0001_note", "CREATE TABLE note (a)")])
        let database = try await launchFromPlaintext(in: folder, with: runner)
        #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT a FROM old") } == 7)
        try database.close()
        #expect(try !Data(contentsOf: URL(filePath: path)).starts(with: "SQLite".utf8))

        let keys = SecretServiceKeyStore()
        let store = MigrationKitSQLCipher.EncryptedStore(
            path: path,
            keyStore: keys,
            service: "com.example.Notes",
            account: "main"
        )
        let (passphrase, file) = (
            Secret(utf8: UUID().uuidString), URL(filePath: "\(folder)/notes.p12")
        )
        try await keepCopies(
            of: store,
            passphrase: passphrase,
            in: file,
            and: "\(folder)/backup.db"
        )
        _ = try keys.delete(service: "com.example.Notes", account: "main")
        await #expect(throws: EncryptedStoreError.self) { try await store.asyncOpen() }
        try await restoreKey(of: store, from: file, passphrase: passphrase).close()
    }

    /// Runs a test of this suite in a process of its own, in a folder.
    private func expectChild(
        _ test: String,
        in folder: TemporaryFolder,
        _ environment: [String: String] = [:]
    ) throws {
        let exports = environment.map { "export \($0)='\($1)'; " }.joined()
        let result = try TestInOwnProcess.run(
            "DocumentationRunTests/\(test)",
            arguments: [folder.path],
            shell: "\(exports)cd '\(folder.path)'"
        )
        #expect(result.hasPassed(test), "\(result)")
    }
}
