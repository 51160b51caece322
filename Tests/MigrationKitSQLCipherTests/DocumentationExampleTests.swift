import DocumentationExamples
import Foundation
import GRDB
import MigrationKit
import MigrationKitSQL
import MigrationKitSchema
import TestSupport
import Testing

/// The Swift code of the documentation is what the target `DocumentationExamples` compiles, with
/// `MemberImportVisibility`.
@Suite struct DocumentationExampleTests {
    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: PackageFolder.path(path), encoding: .utf8)
    }

    /// The Swift blocks of a page, or of its chapter.
    private func blocks(of path: String, chapter: String? = nil) throws -> [String] {
        var page = try text(path)
        if let chapter {
            page = try #require(page.components(separatedBy: "\(chapter)\n").dropFirst().last)
        }
        return page.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
    }

    private func indented(_ text: some StringProtocol) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "" : "    \($0)" }.joined(separator: "\n")
    }

    @Test func exampleOfALaunchIsTheOneThatIsCompiled() throws {
        let blocks = try blocks(
            of: "Documentation/Embedding.md",
            chapter: "## Opening a store at launch"
        )
        let example = try #require(blocks.first)
        let parts = try #require(example.range(of: "\n\n"))
        let imports = example[..<parts.lowerBound]
        let body = example[parts.upperBound...]
        let lastLines = body.split(separator: "\n").suffix(2).joined(separator: "\n") + "\n"
        let asyncBody = body.replacingOccurrences(of: lastLines, with: blocks[1])
        #expect(asyncBody != body)

        let compiled = try text("Tests/DocumentationExamples/Embedding.swift")
        #expect(compiled.hasPrefix(imports + "\n\n"))
        #expect(
            compiled.components(separatedBy: indented(body) + "    return database\n").count == 3
        )
        #expect(
            compiled.components(separatedBy: indented(asyncBody) + "    return database\n").count
                == 2
        )
        #expect(compiled.contains(indented(blocks[2]) + "    return preview\n"))
    }

    @Test(arguments: [
        ("Correcting", 4), ("FirstLaunch", 5), ("Flatpak", 2), ("FromGRDB", 2), ("Rebuilding", 3),
        ("Rehearsing", 1), ("SchemaDifference", 1), ("Services", 4), ("Testing", 2),
    ])
    func examplesOfAPageAreCompiled(_ page: String, _ count: Int) throws {
        let blocks = try blocks(of: "Documentation/\(page).md")
        let compiled = try text("Tests/DocumentationExamples/\(page).swift")
        #expect(blocks.count == count)
        for block in blocks { #expect(compiled.contains("{\n\(indented(block))")) }
    }

    @Test(arguments: [
        ("Sources/MigrationKit", "GettingStarted"),
        ("Sources/MigrationKitCLI", "GettingStarted"),
        ("Sources/MigrationKitGRDB", "GettingStarted"),
        ("Sources/MigrationKitLint", "GettingStarted"),
        ("Sources/MigrationKitRescue", "GettingStarted"),
        ("Sources/MigrationKitService", "GettingStarted"),
        ("Sources/MigrationKitSQL", "GettingStarted"),
        ("Sources/MigrationKitSQLCipher", "GettingStarted"),
        ("Sources/MigrationKitSQLCipher", "BackingUp"),
        ("Sources/MigrationKitSQLCipher", "RotatingAKey"),
        ("Sources/MigrationKitTestSupport", "GettingStarted"),
        ("Keys/MigrationKitKeys", "GettingStarted"),
        ("Keys/SecretService", "GettingStarted"),
    ])
    func codeOfAnArticleIsCompiled(folder: String, article: String) throws {
        let library = URL(filePath: folder).lastPathComponent
        let blocks = try blocks(of: "\(folder)/\(library).docc/\(article).md")
        #expect(!blocks.isEmpty)
        let compiled = try text("Tests/DocumentationExamples/\(library)+\(article).swift")
        let compiledImports = Set(
            compiled.split(separator: "\n").filter { $0.hasPrefix("import ") }
        )
        var imports = Set<Substring>()
        for block in blocks {
            let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
            let ofBlock = lines.prefix { $0.hasPrefix("import ") }
            imports.formUnion(ofBlock)
            let body = lines.dropFirst(ofBlock.count).joined(separator: "\n")
                .trimmingCharacters(in: .newlines)
            #expect(compiled.contains("\n\(body)\n"))
        }
        #expect(imports == compiledImports)
    }

    /// What FromGRDB.md says: the same identifiers go on in the same ledger, either way.
    @Test func databaseOfGRDBsMigratorIsContinuedAsDocumented() throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "notes") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
            }
        }
        let database = try DatabaseQueue()
        try migrator.migrate(database)
        try migrateAsBefore(database)
        #expect(try database.read { try $0.columns(in: "notes").count } == 3)
        try migrator.migrate(database)
        #expect(try database.read(migrator.hasBeenSuperseded))
    }

    // MARK: - What Correcting.md Says

    private static let unique = "CREATE UNIQUE INDEX account_email ON account (email);"
    /// The SQL that the page prints, without its markers.
    private static let merging: String = {
        let page = try? DocumentationPage("Documentation/Correcting.md").code("sql")
        let up = page?.components(separatedBy: "-- migrate:down").first ?? ""
        return up.replacing("-- migrate:up\n", with: "")
    }()
    /// Emails of accounts, two of which are the same in the second list.
    private static let emails = ["(NULL), ('a'), ('b'), (NULL)", "(NULL), ('a'), ('a'), (NULL)"]

    /// A folder of migrations; a database that has them all, and one for which the last one failed.
    private func stores(
        of folder: TemporaryFolder
    ) throws -> (applied: DatabaseQueue, failed: DatabaseQueue) {
        try folder.write(
            "0001_account.sql",
            "CREATE TABLE account (id INTEGER PRIMARY KEY, email TEXT);".utf8
        )
        try folder.write("0002_name.sql", "ALTER TABLE account ADD COLUMN name TEXT;".utf8)
        try folder.write("0003_unique_email.sql", Self.unique.utf8)
        let runner = try runner(folder)
        let (applied, failed) = (try DatabaseQueue(), try DatabaseQueue())
        for (queue, emails) in zip([applied, failed], Self.emails) {
            try runner.migrate(in: queue, upTo: "0002_name")
            try queue.write {
                try $0.execute(sql: "INSERT INTO account (email) VALUES \(emails)")
            }
        }
        try runner.migrate(in: applied)
        #expect(throws: SQLStatementError.self) { try runner.migrate(in: failed) }
        return (applied, failed)
    }

    private func runner(_ folder: TemporaryFolder) throws -> GRDBMigrationRunner {
        try GRDBMigrationRunner(
            steps: MigrationFolder(path: folder.path).steps,
            enforceLexicographicOrder: false
        )
    }

    private func expectCorrected(_ queue: DatabaseQueue, _ runner: GRDBMigrationRunner) throws {
        #expect(try !runner.hasPendingMigrations(in: queue))
        #expect(try runner.drift(in: queue).isSame)
        try runner.runPostMigrationChecks(in: queue)
    }

    /// Only the second account with the same email is gone; those without one stay.
    private func expectMerged(_ applied: DatabaseQueue, _ failed: DatabaseQueue) throws {
        func accounts(_ queue: DatabaseQueue) throws -> [String] {
            try queue.read {
                try String.fetchAll(
                    $0,
                    sql: "SELECT id || ' ' || ifnull(email, 'NULL') FROM account ORDER BY id"
                )
            }
        }
        #expect(try accounts(applied) == ["1 NULL", "2 a", "3 b", "4 NULL"])
        #expect(try accounts(failed) == ["1 NULL", "2 a", "4 NULL"])
    }

    @Test func aRepairingMigrationBeforeTheFailingOneIsAppliedAsDocumented() throws {
        let folder = try TemporaryFolder()
        let (applied, failed) = try stores(of: folder)
        try folder.write("0002.5_merge_accounts.sql", Self.merging.utf8)
        for queue in [applied, failed, try DatabaseQueue()] {
            try migrateWithALateMigration(folder.path, in: queue)
            try expectCorrected(queue, runner(folder))
        }
        try expectMerged(applied, failed)
    }

    @Test func aChangedTextIsAcceptedAsDocumented() throws {
        let folder = try TemporaryFolder()
        let (applied, failed) = try stores(of: folder)
        try folder.write("0003_unique_email.sql", (Self.merging + Self.unique).utf8)
        let runner = try runner(folder)
        #expect(throws: MigrationKitError.changedAfterApplied(["0003_unique_email"])) {
            try runner.migrate(in: applied)
        }
        for queue in [applied, failed, try DatabaseQueue()] {
            try migrateAcceptingTheText(runner, in: queue)
            try migrateAcceptingTheText(runner, in: queue)
            try expectCorrected(queue, runner)
        }
        try expectMerged(applied, failed)
    }

    @Test func aDecisionComesBeforeTheStepAsDocumented() throws {
        let folder = try TemporaryFolder()
        let (applied, failed) = try stores(of: folder)
        for queue in [applied, failed] {
            try migrateAfterADecision(runner(folder), in: queue) {
                try $0.execute(sql: Self.merging)
            }
            try expectCorrected(queue, runner(folder))
        }
        try expectMerged(applied, failed)
    }

    @Test func aStepInSwiftIsCorrectedAsDocumented() throws {
        let folder = try TemporaryFolder()
        _ = try stores(of: folder)
        let earlier = Array(try MigrationFolder(path: folder.path).steps.prefix(2))
        let failing = MigrationStep<Database>(identifier: "0003_unique_email") {
            try $0.execute(sql: Self.unique)
        }
        let corrected = try GRDBMigrationRunner(steps: earlier + [correctedStep()])
        var queues: [DatabaseQueue] = []
        for emails in Self.emails {
            let released = try GRDBMigrationRunner(steps: earlier + [failing])
            let queue = try DatabaseQueue()
            try released.migrate(in: queue, upTo: "0002_name")
            try queue.write {
                try $0.execute(sql: "INSERT INTO account (email) VALUES \(emails)")
            }
            _ = try? released.migrate(in: queue)
            try corrected.migrate(in: queue)
            try expectCorrected(queue, corrected)
            queues.append(queue)
        }
        try expectMerged(queues[0], queues[1])
    }

    @Test func lockedKeyringIsToldInATestAsDocumented() throws {
        let folder = try TemporaryFolder()
        try testALockedKeyring(at: folder.path("notes.db"))
        #expect(try folder.names.contains("notes.db"))
    }
}
