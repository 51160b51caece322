import Foundation
import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL
import TestSupport
import Testing

/// The table of cases: `Cases/RULE/fires-….sql` and `near-miss-….sql`, and `Stories/….sql`.
///
/// A case holds several migrations. Its comments say what the linter must find:
///
/// ```sql
/// -- migration: 0001_notes                  begins a migration; may end in transaction:false
/// CREATE TABLE notes (id INTEGER PRIMARY KEY);
/// -- down:                                  begins its rollback
/// DROP TABLE notes;  -- expect: RULE        a finding at this statement, with the rule's own level
/// -- expect: RULE error                     a finding at the next statement, with another level
/// -- expect in migration: RULE              a finding anywhere in the migration
/// -- database: 0001_notes                   rows of a real database that has applied migrations up
/// INSERT INTO notes …;                      to this one
/// -- published: 0001_notes                  a migration as it was merged into the main branch
/// ```
///
/// Before the first migration, `-- steps` runs the SQL in steps of an app rather than as a folder,
/// and `-- foreign-keys: immediate` does so with foreign keys on.
///
/// A case names every finding of the levels error and warning, and those of its own rule.
@Suite struct CaseTests {
    @Test(arguments: LintCase.paths(in: "Cases"))
    func rulesFindWhatTheCaseNames(path: String) throws {
        let lintCase = try LintCase(path: path)
        let differences = try lintCase.differences()
        #expect(differences == [])
    }

    @Test(arguments: LintCase.paths(in: "Stories"))
    func storiesAreFoundBeforeAnythingIsApplied(path: String) throws {
        let lintCase = try LintCase(path: path)
        #expect(!lintCase.expectations.isEmpty)
        let differences = try lintCase.differences()
        #expect(differences == [])
    }

    @Test(arguments: LintCase.paths(in: "Cases") + LintCase.paths(in: "Stories"))
    func noMessageContainsAValue(path: String) throws {
        let lintCase = try LintCase(path: path)
        let texts = try lintCase.report().findings.flatMap { [$0.message, $0.fix ?? ""] }
        for literal in try lintCase.literals() {
            #expect(texts.allSatisfy { !$0.contains(literal) }, "\(literal)")
        }
    }

    @Test(arguments: LintCase.paths(in: "Cases") + LintCase.paths(in: "Stories"))
    func olderVersionsAreJudgedAsByTheRunner(path: String) throws {
        let lintCase = try LintCase(path: path)
        let kept = try lintCase.judgementsOfTheRunner()
        let report = try lintCase.report()
        // It can't be applied where there are rows.
        let failing = Set(report.findings(of: .addColumnFails).map(\.migration))
        for (migration, reasons) in kept where !failing.contains(migration) {
            let found = report.findings(of: .breaksInstalledVersion)
                .filter { $0.migration == migration }
                .map {
                    $0.message.replacing(
                        "older versions may not work with the database: ",
                        with: ""
                    )
                }
            #expect(Set(found) == Set(reasons), "\(migration)")
        }
    }

    @Test(arguments: LintRule.allCases)
    func everyRuleHasCasesThatFireAndNearMisses(rule: LintRule) throws {
        let cases = try LintCase.paths(in: "Cases")
            .filter { $0.hasPrefix("Cases/\(rule.rawValue)/") }
            .map(LintCase.init(path:))
        let firing = cases.filter { $0.name.hasPrefix("fires-") }
        let nearMisses = cases.filter { $0.name.hasPrefix("near-miss-") }
        #expect(!firing.isEmpty)
        #expect(!nearMisses.isEmpty)
        #expect(firing.count + nearMisses.count == cases.count)
        #expect(firing.allSatisfy { $0.expects(rule) })
        #expect(nearMisses.allSatisfy { !$0.expects(rule) })
    }

    @Test func everyCaseBelongsToARule() throws {
        let folders = Set(LintCase.paths(in: "Cases").map { $0.split(separator: "/")[1] })
        #expect(folders.map(String.init).sorted() == LintRule.allCases.map(\.rawValue).sorted())
    }

    @Test(arguments: LintRule.allCases) func everyRuleHasAPage(rule: LintRule) throws {
        let path = PackageFolder.path("Documentation/lint/\(rule.rawValue).md")
        let page = rule.page
        #expect(try page == String(contentsOfFile: path, encoding: .utf8))
        #expect(page.hasPrefix("# \(rule.rawValue)\n"))
        #expect(page.contains("Level: \(rule.level.rawValue)"))
        #expect(page.contains("```sql") || page.contains("```sh"))
        let list = try String(
            contentsOfFile: PackageFolder.path("Documentation/lint/README.md"),
            encoding: .utf8
        )
        #expect(
            list.contains("| [\(rule.rawValue)](\(rule.rawValue).md) | \(rule.level.rawValue) |")
        )
    }

    @Test func everyPageBelongsToARule() throws {
        let pages = try FileManager.default
            .contentsOfDirectory(atPath: PackageFolder.path("Documentation/lint"))
        #expect(
            pages.sorted()
                == (LintRule.allCases.map { "\($0.rawValue).md" } + ["README.md"]).sorted()
        )
    }

    @Test func everyPublicStoryIsThere() {
        let stories = [
            "alchemy-cms-4200", "alembic-1207", "atlas-2699", "atlas-2700", "atlas-3467",
            "drizzle-orm-5782", "efcore-37598", "prisma-24540", "rails-57128", "sqlx-2085",
            "workers-sdk-5438",
        ]
        #expect(LintCase.paths(in: "Stories") == stories.map { "Stories/\($0).sql" })
    }
}

// MARK: - A Case

/// A file of the table: migrations and the findings that they must have.
private struct LintCase {
    struct Expectation {
        let rule: LintRule
        let level: LintLevel
        let migration: String
        /// The lines of the statement in the migration's file; nil for the whole migration.
        let lines: ClosedRange<Int>?
        /// The line in the case.
        let source: Int
    }

    struct Section {
        enum Kind: String {
            case migration
            case published
            case database
        }

        let kind: Kind
        let name: String
        /// The rest of the line of its beginning, such as `transaction:false`.
        let options: String
        /// The lines without expectations, each with its number in the case.
        var up: [(number: Int, text: String)] = []
        var down: [(number: Int, text: String)]?

        var upSQL: String { up.map(\.text).joined(separator: "\n") }
        var downSQL: String? { down.map { $0.map(\.text).joined(separator: "\n") } }

        /// The text of the migration's file in dbmate's format.
        var file: String {
            let marker = ["-- migrate:up", options].filter { !$0.isEmpty }.joined(separator: " ")
            let parts = [marker, upSQL] + (downSQL.map { ["-- migrate:down", $0] } ?? [])
            return parts.joined(separator: "\n") + "\n"
        }

        /// The number in the file of a line of the case. The markers take a line each.
        func line(of number: Int) -> Int? {
            if let index = up.firstIndex(where: { $0.number == number }) { return index + 2 }
            guard let index = down?.firstIndex(where: { $0.number == number }) else { return nil }
            return up.count + index + 3
        }
    }

    let name: String
    /// The rule that the case is for; nil for a story.
    let rule: LintRule?
    private(set) var expectations: [Expectation] = []
    private var sections: [Section] = []
    private var foreignKeyChecks: MigrationForeignKeyChecks = .deferred
    private var runsSteps = false

    static let root = PackageFolder.path("Tests/MigrationKitLintTests")

    /// The paths of all cases of a folder.
    static func paths(in folder: String) -> [String] {
        let all = FileManager.default.enumerator(atPath: "\(root)/\(folder)")?.allObjects ?? []
        return all.compactMap { $0 as? String }.filter { $0.hasSuffix(".sql") }.sorted()
            .map { "\(folder)/\($0)" }
    }

    init(path: String) throws {
        name = URL(filePath: path).deletingPathExtension().lastPathComponent
        rule = LintRule(rawValue: String(path.split(separator: "/")[1]))
        let text = try String(contentsOfFile: "\(Self.root)/\(path)", encoding: .utf8)
        let lines = text.components(separatedBy: "\n").dropLast()
        var pending: [(match: Substring, number: Int, inMigration: Bool)] = []
        for (index, line) in lines.enumerated() {
            try read(line, number: index + 1, &pending)
        }
        for (match, number, inMigration) in pending {
            try expect(match, at: number, inMigration: inMigration)
        }
    }

    private mutating func read(
        _ line: String,
        number: Int,
        _ pending: inout [(match: Substring, number: Int, inMigration: Bool)]
    ) throws {
        if let match = line.wholeMatch(of: /-- (migration|published|database): (\S+) ?(.*)/) {
            sections.append(
                Section(
                    kind: try #require(Section.Kind(rawValue: String(match.1))),
                    name: String(match.2),
                    options: String(match.3)
                )
            )
        } else if line == "-- down:" {
            sections[sections.count - 1].down = []
        } else if sections.isEmpty {
            switch line {
            case "-- steps": runsSteps = true
            case "-- foreign-keys: immediate":
                runsSteps = true
                foreignKeyChecks = .immediate
            default: #expect(line.hasPrefix("-- "), "line \(number)")
            }
        } else {
            var text = line
            if let match = line.firstMatch(of: /(?: *)-- expect( in migration)?: (.+)/) {
                pending.append((match.2, number, match.1 != nil))
                text.removeSubrange(match.range)
            }
            let last = sections.count - 1
            if sections[last].down == nil {
                sections[last].up.append((number, text))
            } else {
                sections[last].down?.append((number, text))
            }
        }
    }

    private mutating func expect(_ text: Substring, at number: Int, inMigration: Bool) throws {
        let words = text.split(separator: " ").map(String.init)
        let rule = try #require(LintRule(rawValue: words[0]), "line \(number)")
        let level = try words.count > 1 ? #require(LintLevel(rawValue: words[1])) : rule.level
        let section = try #require(sections.first { $0.line(of: number) != nil })
        var lines: ClosedRange<Int>?
        if !inMigration {
            let statement = try #require(
                Self.statements(of: section).first { $0.upperBound >= number },
                "no statement at line \(number)"
            )
            let last = try #require(section.line(of: statement.upperBound))
            lines = try #require(section.line(of: min(number, statement.lowerBound)))...last
        }
        expectations.append(
            Expectation(
                rule: rule,
                level: level,
                migration: section.name,
                lines: lines,
                source: number
            )
        )
    }

    /// The statements' lines in the case. Each statement begins on a line of its own.
    private static func statements(of section: Section) -> [ClosedRange<Int>] {
        var statements: [ClosedRange<Int>] = []
        var first: Int?
        var end = ";"
        for (number, line) in section.up + (section.down ?? []) {
            let code = line.replacing(/--.*/, with: "").trimmingCharacters(in: .whitespaces)
            guard !code.isEmpty else { continue }
            if first == nil {
                first = number
                end = code.uppercased().contains("TRIGGER") && !code.hasSuffix(";") ? "END;" : ";"
            }
            if let start = first, code.uppercased().hasSuffix(end) {
                statements.append(start...number)
                first = nil
            }
        }
        return statements
    }

    func expects(_ rule: LintRule) -> Bool {
        expectations.contains { $0.rule == rule }
    }

    // MARK: Running it

    /// What was found and not named, and named and not found.
    func differences() throws -> [String] {
        let findings = try report().findings.filter { $0.level > .note || $0.rule == rule }
        let unexpected =
            findings
            .filter { finding in !expectations.contains { Self.matches($0, finding) } }
            .map { finding in
                let line = finding.line.map { ":\($0)" } ?? ""
                return "found: \(finding.rule.rawValue) \(finding.level) at "
                    + "\(finding.migration)\(line): \(finding.message)"
            }
        let missing =
            expectations
            .filter { expectation in !findings.contains { Self.matches(expectation, $0) } }
            .map { "not found: \($0.rule.rawValue) \($0.level), named in line \($0.source)" }
        return unexpected + missing
    }

    private static func matches(_ expectation: Expectation, _ finding: LintFinding) -> Bool {
        guard
            expectation.rule == finding.rule, expectation.level == finding.level,
            expectation.migration == finding.migration
        else { return false }
        guard let lines = expectation.lines, let line = finding.line else { return true }
        return lines.contains(line)
    }

    /// The strings of the SQL that are the name of nothing.
    func literals() throws -> Set<String> {
        let sql = sections.map { $0.upSQL + "\n" + ($0.downSQL ?? "") }.joined(separator: "\n")
            .replacing(/--[^\n]*/, with: "")
        let literals = Set(sql.matches(of: /'([^']{3,})'/).map { String($0.1) })
        let rest = sql.replacing(/'[^']*'/, with: "")
        return literals.filter { !rest.contains($0) }
    }

    /// Why older versions may fail, by the migrations that the runner has applied and judged.
    func judgementsOfTheRunner() throws -> [String: [String]] {
        let files = try TemporaryFolder()
        let steps =
            try runsSteps
            ? sections.filter { $0.kind == .migration }.map(step)
            : folder(of: .migration, in: files).steps
        let database = try DatabaseQueue()
        let runner = try GRDBMigrationRunner(steps: steps, enforceLexicographicOrder: false)
        // Each by itself, as the linter judges it. Some cases are about migrations that fail.
        for step in steps {
            guard (try? runner.migrate(in: database, upTo: step.identifier)) != nil else { break }
        }
        // What the author says, or allows, is no finding.
        let silent = Set(
            sections.filter { section in
                section.upSQL.contains("migrationkit:allow breaks-installed-version")
                    || steps.contains { $0.identifier == section.name && $0.older != nil }
            }.map(\.name)
        )
        let judged = try GRDBMigrationRunner.history(in: database).filter { entry in
            entry.event == .applied && entry.older != nil && !silent.contains(entry.identifier)
        }
        return Dictionary(
            uniqueKeysWithValues: judged.map { ($0.identifier, $0.older?.reasons ?? []) }
        )
    }

    func report() throws -> LintReport {
        let files = try TemporaryFolder()
        var lint: MigrationLint
        let steps: [MigrationStep<Database>]
        if runsSteps {
            steps = sections.filter { $0.kind == .migration }.map(step)
            lint = MigrationLint(steps: steps)
        } else {
            let folder = try self.folder(of: .migration, in: files)
            steps = folder.steps
            lint = MigrationLint(folder: folder)
        }
        if sections.contains(where: { $0.kind == .published }) {
            let published = try folder(of: .published, in: TemporaryFolder()).steps
            lint.published = [
                MigrationLint.Published(
                    source: "main",
                    migrations: published.map { ($0.identifier, $0.checksum) }
                )
            ]
        }
        if let rows = sections.first(where: { $0.kind == .database }) {
            lint.database = try database(with: rows, of: steps)
        }
        return try lint.report()
    }

    private func folder(of kind: Section.Kind, in files: TemporaryFolder) throws -> MigrationFolder
    {
        for section in sections where section.kind == kind {
            try files.write("\(section.name).sql", section.file.utf8)
        }
        return try MigrationFolder(path: files.path)
    }

    private func step(_ section: Section) -> MigrationStep<Database> {
        let up = section.upSQL
        var rollback: (@Sendable (Database) throws -> Void)?
        if let down = section.downSQL { rollback = { try $0.execute(sql: down) } }
        return MigrationStep(
            identifier: section.name,
            foreignKeyChecks: foreignKeyChecks,
            apply: { (db: Database) in try db.execute(sql: up) },
            rollback: rollback
        )
    }

    private func database(
        with rows: Section,
        of steps: [MigrationStep<Database>]
    ) throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        let last = try #require(steps.firstIndex { $0.identifier == rows.name })
        try GRDBMigrationRunner(steps: Array(steps[...last]), enforceLexicographicOrder: false)
            .migrate(in: database)
        try database.write { try $0.execute(sql: rows.upSQL) }
        return database
    }
}
