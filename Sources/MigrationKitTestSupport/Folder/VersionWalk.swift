import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitLint
import MigrationKitSQL

/// Goes from version to version of a folder, and tests each step on databases of the version before
/// it: one without rows, and one with generated ones.
struct VersionWalk {
    private let folder: MigrationFolder
    private let versions: CheckedVersions
    private let generated: GeneratedRows
    /// The schema of the version that was reached last.
    private var schema: SchemaSnapshot

    private(set) var cases: [FolderTestReport.Case] = []

    /// - Parameters:
    ///   - part: The steps.
    ///   - database: A database of the version before them, which has no rows but those that migrations
    ///     insert.
    ///   - installed: A new database of the version after them.
    ///   - isTested: Whether to test a step. It is asked for each, in order.
    ///   - note: Called when a step was tested.
    init(
        _ folder: MigrationFolder,
        _ versions: CheckedVersions,
        _ generated: GeneratedRows,
        _ part: Range<Int>,
        from database: DatabaseQueue,
        to installed: DatabaseQueue?,
        isTested: (MigrationStep<Database>) throws -> Bool,
        noting note: () -> Void
    ) throws {
        (self.folder, self.versions, self.generated) = (folder, versions, generated)
        schema = try SchemaSnapshot(of: database)
        let steps = versions.runner.steps
        var reached = part.lowerBound
        do {
            _ = try versions.climb(from: database, at: reached) { rung in
                let after = try SchemaSnapshot(of: rung.after)
                let step = steps[reached]
                if try isTested(step) {
                    try test(step, rung, after)
                    note()
                }
                schema = after
                reached += 1
                return reached < part.upperBound
            }
        } catch let failure as CheckFailure {
            add(.upgrade, failure, in: steps[reached].identifier)
            return
        }
        guard let installed else { return }
        let difference = try schema.difference(from: SchemaSnapshot(of: installed))
        guard !difference.isEmpty else { return }
        let start = part.lowerBound == 0 ? nil : steps[part.lowerBound - 1].identifier
        add(
            .upgrade,
            CheckFailure(.upgradeLeadsElsewhere(from: start, difference: difference)),
            in: steps[part.upperBound - 1].identifier
        )
    }

    private mutating func test(
        _ step: MigrationStep<Database>,
        _ rung: CheckedVersions.Rung,
        _ after: SchemaSnapshot
    ) throws {
        guard let sql = folder.scripts[step.identifier] else { return }
        let (former, database, next) = (rung.former, rung.before, rung.after)
        let records = try versions.runner.migrationRecords(in: next)
        // Otherwise it would grow, and each run reads it.
        try next.write { try $0.execute(sql: "DELETE FROM grdb_migrationkit_journal") }
        // What older versions can notice of it, if they should work.
        let affected =
            records[step.identifier]?.older == .work
            ? after.names(inObjectsOtherThanIn: schema) : nil
        let reached = affected?.intersection(schema.tableNames) ?? []
        let rows: (database: DatabaseQueue, tables: Set<String>, empty: [String])?
        do {
            rows = try generated.copy(of: database, for: sql, and: reached)
        } catch is RowsIncomplete {
            var test = folder.test(.rows, of: step.identifier)
            test.outcome = .failed(
                FolderTestReport.Failure(
                    message:
                        "\(step.identifier): the generation of rows to test it on takes too long",
                    difference: "",
                    advice: "Look at the triggers of the tables that it names: a row takes seconds."
                )
            )
            return cases.append(test)
        }
        let trial = StepTrial(
            step: step,
            sql: sql,
            former: former,
            versions: versions,
            before: schema,
            after: after,
            tables: sql.tables(among: schema, after).union(rows?.tables ?? [])
        )
        var withRows = rows?.database
        let contents = try withRows.map { try TableContents(of: $0, trial.tables) }
        do {
            if let withRows, let contents {
                try versions.migrate(withRows, from: former, upTo: step.identifier)
                var test = try checking(.rows, step) {
                    try trial.checkRows(in: withRows, from: contents)
                }
                for kind in GeneratedRows.kinds(leftOutBy: sql) where test.failure == nil {
                    guard let rows = try generated.copy(of: database, for: sql, and: reached, kind)
                    else { continue }
                    test = try checking(.rows, step) { try trial.checkRows(kind, rows.database) }
                }
                if test.failure == nil, let empty = rows?.empty, !empty.isEmpty {
                    let tables = empty.joined(separator: ", ")
                    test.outcome = .skipped("no generated row fits the constraints of \(tables)")
                }
                cases.append(test)
            }
            cases.append(folder.test(.upgrade, of: step.identifier))
        } catch let failure as CheckFailure {
            withRows = nil
            if let reason = trial.refusalOfRows(failure) {
                var test = folder.test(.rows, of: step.identifier)
                test.outcome = .skipped(reason)
                cases += [folder.test(.upgrade, of: step.identifier), test]
            } else {
                add(.upgrade, failure, in: step.identifier)
            }
        }
        if step.canRollBack {
            let test = try checking(.rollback, step) {
                if let withRows, let contents {
                    do {
                        return try trial.rollBack(versions.copy(of: withRows), to: contents)
                    } catch let failure as CheckFailure where trial.refusalOfRows(failure) != nil {}
                }
                try trial.rollBack(
                    versions.copy(of: next),
                    to: TableContents(of: database, trial.tables)
                )
            }
            cases.append(test)
        }
        if !step.usesTransaction {
            let test = try checking(.again, step) {
                try trial.repeatStatements(on: versions.copy(of: withRows ?? next))
            }
            cases.append(test)
        }
        if let affected {
            let test = try checking(.older, step) {
                let older = try database.read { try OlderStatements(of: $0, affected) }
                let newer = try versions.copy(of: withRows ?? next)
                do {
                    try older.run(on: newer, after: step.identifier)
                } catch is CheckFailure {
                    // It may have failed before, on the same rows.
                    let rows = try generated.copy(of: database, for: sql, and: reached)
                    try older.working(on: rows?.database ?? database)
                        .run(on: newer, after: step.identifier)
                }
            }
            cases.append(test)
        }
    }

    private func checking(
        _ kind: FolderTestReport.Kind,
        _ step: MigrationStep<Database>,
        _ body: () throws -> Void
    ) throws -> FolderTestReport.Case {
        var test = folder.test(kind, of: step.identifier)
        do { try body() } catch let failure as CheckFailure { test.fail(failure, in: folder) }
        return test
    }

    private mutating func add(
        _ kind: FolderTestReport.Kind,
        _ failure: CheckFailure,
        in identifier: String
    ) {
        var test = folder.test(kind, of: identifier)
        test.fail(failure, in: folder)
        cases.append(test)
    }
}

/// One step between two versions.
private struct StepTrial {
    let step: MigrationStep<Database>
    let sql: MigrationSQL
    let former: String?
    let versions: CheckedVersions
    let before: SchemaSnapshot
    let after: SchemaSnapshot
    /// The tables that its text names, in lower case.
    let tables: Set<String>

    /// Why generated rows say nothing about the step: a constraint refuses their values, and real rows
    /// may have others.
    ///
    /// - Returns: `nil` if it refuses any rows.
    func refusalOfRows(_ failure: CheckFailure) -> String? {
        let (code, message): (ResultCode, String)
        switch failure.cause {
        case let error as SQLStatementError:
            (code, message) = (error.resultCode, error.sqliteMessage)
        case let error as DatabaseError:
            (code, message) = (error.extendedResultCode, error.message ?? "")
        case GRDBMigrationVerificationError.fullTextMismatch?: return nil
        // What the step's own checks find.
        case is GRDBMigrationVerificationError: return "its checks refuse generated rows"
        default: return nil
        }
        let isOfValues =
            switch code {
            // Generated rows have a value wherever they can.
            case .SQLITE_CONSTRAINT_NOTNULL: false
            case .SQLITE_CONSTRAINT_FOREIGNKEY: addsForeignKey
            case _ where code.primaryResultCode == .SQLITE_ERROR:
                // ALTER TABLE refuses these for any row.
                !message.hasPrefix("Cannot add ")
            default:
                [.SQLITE_CONSTRAINT, .SQLITE_MISMATCH].contains(code.primaryResultCode)
            }
        return isOfValues ? "generated rows are refused: \(failure.finding.reason)" : nil
    }

    private var addsForeignKey: Bool {
        after.objects(otherThanIn: before).contains {
            SQLTokens($0.sql).tokens.contains { $0.keyword == "REFERENCES" }
        }
    }

    func checkRows(
        in database: DatabaseQueue,
        from before: TableContents,
        _ kind: GeneratedRows.Kind = .different
    ) throws {
        let stated = StatedChanges(of: sql, tables: self.before.tableNames)
        guard !stated.areAllowed else { return }
        let losses = try TableContents(of: database, tables).losses(from: before, stated)
        guard losses.isEmpty else {
            let title = kind == .different ? "" : "  of \(kind.rawValue):\n"
            throw CheckFailure(.rowsAreLost(step: step.identifier, difference: title + losses))
        }
    }

    /// Applies the step to rows of another kind. That it refuses them is another question.
    func checkRows(_ kind: GeneratedRows.Kind, _ database: DatabaseQueue) throws {
        let contents = try TableContents(of: database, tables)
        do {
            try versions.migrate(database, from: former, upTo: step.identifier)
        } catch is CheckFailure { return }
        try checkRows(in: database, from: contents, kind)
    }

    func rollBack(_ database: DatabaseQueue, to contents: TableContents) throws {
        let applied = try TableContents(of: database, tables)
        try versions.rollBack(step.identifier, in: database, to: before)
        let undone = try TableContents(of: database, tables)
        let difference = KeptRows(from: contents, through: applied).difference(in: undone)
        guard difference.isEmpty else {
            throw CheckFailure(
                .rollbackLeavesOtherRows(step: step.identifier, difference: difference)
            )
        }
        try versions.reapply(step.identifier, in: database, to: after)
        let again = try TableContents(of: database, tables)
        let counts = again.differenceOfCounts(from: applied)
        guard counts.isEmpty else {
            throw CheckFailure(
                .reapplicationLeadsElsewhere(step: step.identifier, difference: counts)
            )
        }
    }

    /// Runs it as if it had been interrupted before it was recorded.
    func repeatStatements(on database: DatabaseQueue) throws {
        let before = try DatabaseContents(of: database, tables)
        try database.write { db in
            try db.execute(
                sql: "DELETE FROM grdb_migrations WHERE identifier = ?",
                arguments: [step.identifier]
            )
        }
        var refusal: CheckFailure?
        do {
            try versions.migrate(database, from: former, upTo: step.identifier)
        } catch let failure as CheckFailure {
            refusal = failure
        }
        let difference = try DatabaseContents(of: database, tables).difference(from: before)
        guard difference.isEmpty else {
            throw CheckFailure(
                .repeatChanges(step: step.identifier, difference: difference),
                cause: refusal?.cause
            )
        }
    }
}

extension MigrationSQL {
    /// The tables that are named in its text, in lower case.
    fileprivate func tables(among schemas: SchemaSnapshot...) -> Set<String> {
        let words = (upStatements + downStatements).reduce(into: Set<String>()) {
            words,
            statement in
            words.formUnion(SQLTokens(statement.text).tokens.filter(\.isName).map(\.name))
        }
        return schemas.reduce(into: []) { $0.formUnion(words.intersection($1.tableNames)) }
    }
}
