import Foundation
import GRDB
import MigrationKit
import MigrationKitCommon
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL

/// Tests a folder of SQL files as its users will run it: from every version, forward and back, with
/// rows.
///
/// All databases are in memory, so nothing of them reaches a disk. A database of each version is
/// migrated by one step, on a new connection: if that gives the schema that a new database has at
/// that version, the next steps lead to the same end.
package struct FolderTest: OperationOptions {
    private let folder: MigrationFolder
    private let versions: CheckedVersions

    /// The migrations to test; `nil` for all.
    package var selection: Set<String>?

    /// The migrations as databases have got them, by the name of their version in git.
    package var base: (name: String, steps: [MigrationStep<Database>])?

    /// The author's own tests, each with the steps that its versions have.
    private var own: [OwnTest] = []

    package var cancellation: Cancellation?
    package var observer: (@Sendable (FolderTestProgress) -> Void)?
    package var timeout: TimeInterval { 0 }

    /// - Parameters:
    ///   - folder: The folder.
    ///   - runner: The runner of its steps, without drafts.
    ///   - configuration: That of the databases in memory, with the functions that the steps use.
    package init(
        _ folder: MigrationFolder,
        runner: GRDBMigrationRunner,
        configuration: Configuration
    ) {
        self.folder = folder
        versions = CheckedVersions(runner: runner, configuration: configuration)
    }

    /// Adds the author's tests.
    ///
    /// - Parameters:
    ///   - files: Their files.
    ///   - identifier: The migration that a text names; `nil` if none does.
    /// - Throws: ``UnusableTest``; what `identifier` throws.
    package mutating func add(
        _ files: [TestFile],
        identifier: (String) throws -> String?
    ) throws {
        own += try files.map { file in
            try OwnTest(file) { version in
                guard let name = try identifier(version.text),
                    let index = versions.identifiers.firstIndex(of: name)
                else { throw UnusableTest(.unknownVersion(version.text), version.place) }
                return index + 1
            }
        }
    }

    /// Runs all tests.
    ///
    /// - Throws: A `CancellationError`; a `DatabaseError` if there is no memory.
    package func report() throws -> FolderTestReport {
        let steps = versions.runner.steps
        let selected = steps.indices.filter { selection?.contains(steps[$0].identifier) ?? true }
        let parts = Self.parts(of: selected)
        // Those that a selected step can change.
        let own = own.filter { test in
            selection == nil || selected.contains { $0 >= test.start && $0 < test.end }
        }
        let (databases, installed) = try install(
            stoppingAt: Set(parts.flatMap { [$0.lowerBound, $0.upperBound] } + own.map(\.start))
        )
        // What fails on a new database has no version to test.
        let end = databases.keys.max() ?? 0
        let walks = parts.filter { $0.lowerBound < end }.map { $0.clamped(to: 0..<end) }
        let tests = own.filter { $0.end <= end }
        let done = Locked(0)
        let results = Locked([Int: [FolderTestReport.Case]]())
        try WorkerThreads.run(
            walks.count + tests.count,
            threadCount: ProcessInfo.processInfo.activeProcessorCount,
            watch: { _ in try operation.checkCancellation() },
            make: {
                let rows = try GeneratedRows(versions.configuration)
                return { number in
                    let cases =
                        if number < walks.count {
                            try walk(walks[number], databases, rows) {
                                let count = done.withLock {
                                    $0 += 1; return $0
                                }
                                operation.report(
                                    FolderTestProgress(done: count, total: selected.count)
                                )
                            }
                        } else {
                            try run(tests[number - walks.count], databases)
                        }
                    results.withLock { $0[number] = cases }
                }
            }
        )
        let cases = results.withLock { results in
            (0..<walks.count + tests.count).flatMap { results[$0] ?? [] }
        }
        return FolderTestReport(migrations: selected.count, cases: installed + cases)
    }

    private func walk(
        _ part: Range<Int>,
        _ databases: [Int: DatabaseQueue],
        _ rows: GeneratedRows,
        noting note: () -> Void
    ) throws -> [FolderTestReport.Case] {
        guard let database = databases[part.lowerBound] else { return [] }
        return try VersionWalk(
            folder,
            versions,
            rows,
            part,
            from: database,
            to: databases[part.upperBound],
            isTested: { step in
                try operation.checkCancellation()
                return selection?.contains(step.identifier) ?? true
            },
            noting: note
        ).cases
    }

    private func run(
        _ test: OwnTest,
        _ databases: [Int: DatabaseQueue]
    ) throws -> [FolderTestReport.Case] {
        guard let database = databases[test.start] else { return [] }
        return try test.run(from: database, versions)
    }

    /// The versions in pieces, of which a thread takes one at a time.
    private static func parts(of selected: [Int]) -> [Range<Int>] {
        let count = min(selected.count, ProcessInfo.processInfo.activeProcessorCount * 4)
        return (0..<count).map { number in
            let piece =
                selected[selected.count * number / count..<selected.count * (number + 1) / count]
            return piece[piece.startIndex]..<piece[piece.endIndex - 1] + 1
        }
    }

    // MARK: - A New Database

    /// Migrates a new database to the end, and keeps copies of it on the way, by their numbers of
    /// steps.
    private func install(
        stoppingAt stops: Set<Int>
    ) throws -> (copies: [Int: DatabaseQueue], cases: [FolderTestReport.Case]) {
        let steps = versions.runner.steps
        var copies = [0: try versions.empty()]
        var installed = FolderTestReport.Case(kind: .install, name: "a new database", file: nil)
        var again = FolderTestReport.Case(kind: .again, name: "a second run", file: nil)
        let database = try versions.empty()
        do {
            for stop in stops.union([steps.count]).sorted() where stop > 0 {
                try operation.checkCancellation()
                let target = stop == steps.count ? nil : steps[stop - 1].identifier
                try versions.install(in: database, upTo: target)
                copies[stop] = try versions.copy(of: database)
            }
        } catch let failure as CheckFailure {
            installed.fail(failure, in: folder)
            again.outcome = .skipped("a new database can't be migrated to the end")
            return (copies, [installed, again])
        }
        do {
            try versions.runAgain(on: versions.copy(of: database))
        } catch let failure as CheckFailure {
            again.fail(failure, in: folder)
        }
        return (copies, [installed, again] + (try upgradeOfBase(to: database)))
    }

    /// A database with the migrations as they are in the base gets this folder's.
    private func upgradeOfBase(to final: DatabaseQueue) throws -> [FolderTestReport.Case] {
        guard let base, !base.steps.isEmpty else { return [] }
        var upgrade = FolderTestReport.Case(
            kind: .upgrade,
            name: "a database at \(base.name)",
            file: nil
        )
        let former = CheckedVersions(
            runner: try GRDBMigrationRunner(steps: base.steps, enforceLexicographicOrder: false),
            configuration: versions.configuration
        )
        do {
            let database = try former.installed()
            let upgraded = try versions.copy(of: database)
            try versions.migrate(upgraded, from: base.name)
            let difference = try SchemaSnapshot(of: upgraded)
                .difference(from: SchemaSnapshot(of: final))
            if !difference.isEmpty {
                throw CheckFailure(.upgradeLeadsElsewhere(from: base.name, difference: difference))
            }
        } catch let failure as CheckFailure {
            if case .freshInstallFailed = failure.finding {
                upgrade.outcome = .skipped(
                    "\(base.name)'s own migrations fail: \(failure.finding.localizedDescription)"
                )
            } else {
                upgrade.fail(failure, in: folder)
            }
        }
        return [upgrade]
    }
}

/// How many of the migrations were tested.
package struct FolderTestProgress: Sendable {
    package let done: Int
    package let total: Int
}

extension MigrationFolder {
    /// A case that has passed, where a migration or what takes it back begins.
    func test(_ kind: FolderTestReport.Kind, of identifier: String) -> FolderTestReport.Case {
        let sql = scripts[identifier]
        let first = kind == .rollback ? sql?.downStatements.first : sql?.upStatements.first
        return FolderTestReport.Case(
            kind: kind,
            name: identifier,
            file: first?.file ?? steps.first { $0.identifier == identifier }?.sourceFile,
            line: first?.line,
            column: first?.column
        )
    }
}

extension FolderTestReport.Case {
    /// Makes it a failure: at the statement that SQLite refuses, or else at the step that fails.
    mutating func fail(_ failure: CheckFailure, in folder: MigrationFolder) {
        if let error = failure.cause as? SQLStatementError {
            (file, line, column) = (error.file, error.line, error.column)
        } else if file == nil, let step = failure.step {
            let test = folder.test(kind, of: step)
            (file, line, column) = (test.file, test.line, test.column)
        }
        outcome = .failed(FolderTestReport.Failure(failure))
    }
}
