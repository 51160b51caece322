import Foundation
import GRDB
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL
import TestSupport
import Testing

/// The SQL that the pages of the rules print, as it is printed: `PageExamples/RULE.sql` says what is
/// around it, and what becomes of rows with NULLs and duplicates.
///
/// ```sql
/// -- tables                        what there is before
/// -- rows                          the rows that users have
/// -- example 1: finds              the page's first block of SQL: the rule finds something in it
/// CREATE TABLE new_notes (…);      what stands before it in the migration
/// -- page                          the block; without this line, it is the whole migration
/// DROP TABLE notes;                what stands after it
/// -- example 2: keeps              the rule finds nothing in it, and it runs on the rows
/// -- replacing: -- … the rebuild   the lines below stand for this line of the block
/// -- after                         what the app does then
/// -- then: SELECT …                a query, and the rows that it gives
/// --   1|a
/// -- taken back: SELECT …          the same after its rollback
/// -- example 3: lists              a query, and the rows that it gives
/// -- example 4: loses nothing      it fails on these rows, which stay
/// -- rows
/// ```
@Suite struct PageExampleTests {
    private static let rules = LintRule.allCases.map(\.rawValue)

    private static func page(_ rule: String) throws -> DocumentationPage {
        try DocumentationPage("Documentation/lint/\(rule).md")
    }

    @Test(arguments: rules) func everyBlockOfSQLIsAnExample(rule: String) throws {
        let count = try Self.page(rule).blocks.count { $0.language == "sql" }
        #expect(Set(try PageExample.all(of: rule).map(\.number)) == Set(1..<(count + 1)))
    }

    @Test(arguments: rules) func examplesDoWhatThePageSays(rule: String) throws {
        let lintRule = try #require(LintRule(rawValue: rule))
        for example in try PageExample.all(of: rule) {
            let block = try Self.page(rule).code("sql", example.number)
            let run = try PageExampleRun(example, block: block)
            let name: Comment = "\(rule) \(example.number): \(example.kind)"
            switch example.kind {
            case .finds:
                #expect(try !run.findings(of: lintRule, onRows: false).isEmpty, name)
            case .keeps:
                let findings = try run.findings(of: lintRule, onRows: true)
                #expect(findings.isEmpty, "\(name) \(findings.map(\.message))")
                try run.migrate()
                for expectation in example.expectations {
                    if expectation.isTakenBack { try run.takeBack() }
                    let rows = try run.rows(expectation.query)
                    #expect(rows == expectation.rows, name)
                }
            case .lists:
                #expect(try run.rows(block) == example.expectations[0].rows, name)
            case .losesNothing:
                let before = try run.dump()
                #expect(throws: (any Error).self, name) { try run.migrate() }
                #expect(try run.dump() == before, name)
            }
        }
    }
}

// MARK: - An Example

private struct PageExample {
    enum Kind: String {
        case finds
        case keeps
        case lists
        case losesNothing = "loses nothing"
    }

    struct Expectation {
        let query: String
        let isTakenBack: Bool
        var rows: [String] = []
    }

    let number: Int
    let kind: Kind
    let tables: String
    private(set) var rows: String
    private(set) var before = ""
    private(set) var after = ""
    /// What stands for lines of the block.
    private(set) var replacements: [String: String] = [:]
    /// What the app does afterwards.
    private(set) var appSQL = ""
    private(set) var expectations: [Expectation] = []

    static func all(of rule: String) throws -> [PageExample] {
        let path = PackageFolder.path("Tests/MigrationKitLintTests/PageExamples/\(rule).sql")
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var parts = text.components(separatedBy: "-- example ")
        let common = parts.removeFirst().components(separatedBy: "-- rows\n")
        let tables = common[0].replacing("-- tables\n", with: "")
        return try parts.map {
            try PageExample($0, tables: tables, rows: common.dropFirst().first ?? "")
        }
    }

    private init(_ text: String, tables: String, rows: String) throws {
        var lines = text.components(separatedBy: "\n").dropLast()[...]
        let heading = try #require(lines.popFirst()?.wholeMatch(of: /(\d+): (.*)/))
        number = try #require(Int(heading.1))
        kind = try #require(Kind(rawValue: String(heading.2)))
        self.tables = tables
        self.rows = rows
        var place = "before"
        for line in lines {
            if let match = line.wholeMatch(of: /-- (page|after|rows)/) {
                place = String(match.1)
                if place == "rows" { self.rows = "" }
            } else if let match = line.wholeMatch(of: /-- replacing: (.*)/) {
                place = String(match.1)
            } else if let match = line.wholeMatch(of: /-- (then|taken back): (.*)/) {
                expectations.append(
                    Expectation(query: String(match.2), isTakenBack: match.1 == "taken back")
                )
            } else if let match = line.wholeMatch(of: /--   (.*)/) {
                if expectations.isEmpty {
                    expectations.append(Expectation(query: "", isTakenBack: false))
                }
                expectations[expectations.count - 1].rows.append(String(match.1))
            } else {
                switch place {
                case "before": before += line + "\n"
                case "page": after += line + "\n"
                case "after": appSQL += line + "\n"
                case "rows": self.rows += line + "\n"
                default: replacements[place, default: ""] += line + "\n"
                }
            }
        }
    }

    /// The migration's file.
    func file(_ block: String) -> String {
        var block = block
        for (line, sql) in replacements { block = block.replacing(line + "\n", with: sql) }
        let text = before + block + after
        return text.contains("-- migrate:up") ? text : "-- migrate:up\n\(text)"
    }
}

/// An example's migration, and a database with its rows.
private struct PageExampleRun {
    private let files: TemporaryFolder
    private let database: DatabaseQueue
    private let runner: GRDBMigrationRunner
    private let example: PageExample

    init(_ example: PageExample, block: String) throws {
        self.example = example
        files = try TemporaryFolder()
        try files.makeFolder("migrations")
        try files.write("migrations/0001_tables.sql", "-- migrate:up\n\(example.tables)".utf8)
        try files.write("migrations/0002_example.sql", example.file(block).utf8)
        let steps = try MigrationFolder(path: files.path("migrations")).steps
        runner = try GRDBMigrationRunner(steps: steps, enforceLexicographicOrder: false)
        database = try DatabaseQueue(path: files.path("store.db"))
        try runner.migrate(in: database, upTo: "0001_tables")
        try database.write { try $0.execute(sql: example.rows) }
    }

    /// What a rule finds in it.
    func findings(of rule: LintRule, onRows: Bool) throws -> [LintFinding] {
        var lint = MigrationLint(folder: try MigrationFolder(path: files.path("migrations")))
        if onRows { lint.database = database }
        // A note about other tools isn't about the example.
        return try lint.report().findings(of: rule).filter {
            $0.migration == "0002_example" && ($0.level > .note || rule.level == .note)
        }
    }

    func migrate() throws {
        try runner.migrate(in: database)
        try database.write { try $0.execute(sql: example.appSQL) }
    }

    func takeBack() throws { _ = try runner.rollbackLastMigration(in: database) }

    func rows(_ query: String) throws -> [String] {
        try database.read { db in
            try Row.fetchAll(db, sql: query).map { row in
                row.databaseValues
                    .map { $0.isNull ? "NULL" : String.fromDatabaseValue($0) ?? "\($0)" }
                    .joined(separator: "|")
            }
        }
    }

    /// All rows of the tables, with their types.
    func dump() throws -> [String] {
        try database.read { db in
            let tables = try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
            )
            return try tables.filter { !$0.hasPrefix("grdb_") }.flatMap { table in
                try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map { "\(table) \($0)" }
            }
        }
    }
}
