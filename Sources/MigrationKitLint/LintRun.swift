import GRDB
import MigrationKit
import MigrationKitGRDB
import MigrationKitSQL

/// Runs migrations in order on a scratch database, and records what each of them does.
final class LintRun {
    private let base: ScratchDatabase
    private let limit: Duration
    private let folder: MigrationFolder?
    private let count: ((String) -> Int?)?

    /// What earlier failures keep from existing, in lower case.
    private var missing = MissingObjects()

    /// The tables of the real database that no pending migration has changed so far.
    private var untouched: Set<String>

    /// - Parameters:
    ///   - folder: The folder; `nil` for steps in Swift.
    ///   - configuration: The configuration of the scratch databases.
    ///   - limit: How much processor time a migration may take.
    ///   - database: A connection to the real database, which is only read.
    init(
        folder: MigrationFolder?,
        configuration: Configuration,
        limit: Duration,
        database: Database?
    ) throws {
        base = try ScratchDatabase(configuration, reader: SchemaReader())
        self.limit = limit
        self.folder = folder
        count = database.map { database in { try? Int.fetchOne(database, sql: $0) } }
        untouched =
            try database.map {
                Set(try SchemaReader().schema(of: $0).tables.keys)
            } ?? []
    }

    /// Runs a migration without a look at it.
    func skip(_ step: MigrationStep<Database>) throws {
        let (sources, closure) = try sources(of: step)
        let pass = try StepPass(sources, on: base, schema: SchemaModel(), settings(of: step))
        if let closure, closure.hasOtherSchema(than: base) {
            try base.replaceContent(with: closure.queue)
        }
        for (source, statement) in zip(sources, pass.statements) where statement.failure != nil {
            missing.add(ParsedStatement(source.text))
        }
        if pass.isStopped || closure?.incomplete != nil { missing.addAll() }
    }

    /// Runs a migration, and records what it does.
    func record(_ step: MigrationStep<Database>) throws -> StepRecord {
        let before = try base.schema()
        let (sources, closure) = try sources(of: step)
        let settings = settings(of: step)
        let filled = try fill(for: sources, before)
        let pass = try StepPass(sources, on: base, schema: before, settings)
        var incomplete = closure?.incomplete
        if pass.isStopped { incomplete = StopReason.time }
        var after = pass.schema
        if let closure, incomplete == nil, closure.hasOtherSchema(than: base) {
            try base.replaceContent(with: closure.queue)
            after = try base.schema()
            incomplete = "its statements don't have the same result without the closure"
        }
        let rows =
            try pass.isStopped
            ? nil
            : filled.map { filled in
                try StepPass(
                    sources,
                    on: filled.database,
                    schema: before,
                    countingFrom: filled.counts,
                    settings
                )
            }
        let statements = statements(sources, pass, rows)
        if incomplete != nil { missing.addAll() }
        let record = StepRecord(
            identifier: step.identifier,
            file: step.sourceFile,
            format: folder?.format,
            usesTransaction: step.usesTransaction,
            foreignKeyChecks: step.foreignKeyChecks,
            before: before,
            after: after,
            statements: statements,
            commitFailure: pass.commitFailure,
            rowsBefore: filled?.counts ?? [:],
            rowsAfter: rows?.rowCounts ?? [:],
            rebuilds: Rebuild.all(in: statements, before: before),
            incomplete: incomplete,
            down: try down(of: step, from: after),
            data: count.map { RealRows(count: $0, tables: untouched) }
        )
        untouched.subtract(changedTables(statements))
        return record
    }

    // MARK: - Statements

    /// What a closure did on a database of its own.
    private struct ClosureResult {
        let queue: DatabaseQueue
        let incomplete: String?

        func hasOtherSchema(than database: ScratchDatabase) -> Bool {
            func objects(_ db: Database) -> [Row]? {
                try? Row.fetchAll(
                    db,
                    sql: "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2"
                )
            }
            return queue.inDatabase(objects) != database.read(objects)
        }
    }

    private func sources(
        of step: MigrationStep<Database>
    ) throws -> ([SourceStatement], ClosureResult?) {
        if let sql = folder?.scripts[step.identifier] {
            return (sql.upStatements.map(SourceStatement.init), nil)
        }
        let (statements, result) = try trace(step, step.apply)
        return (statements, result)
    }

    private func trace(
        _ step: MigrationStep<Database>,
        _ body: (Database) throws -> Void
    ) throws -> ([SourceStatement], ClosureResult) {
        let queue = try base.plainCopy()
        let result = TracedClosure.run(
            on: queue,
            beginning: StepPass.beginning(settings(of: step)),
            limit: limit,
            body
        )
        var incomplete = result.isStopped ? StopReason.time : nil
        if let error = result.error, !(error is DatabaseError), !result.isStopped {
            incomplete = "it throws an error of its own"
        }
        return (
            result.statements.map(SourceStatement.init(traced:)),
            ClosureResult(queue: queue, incomplete: incomplete)
        )
    }

    private func settings(of step: MigrationStep<Database>) -> StepPass.Settings {
        StepPass.Settings(
            usesTransaction: step.usesTransaction,
            // Outside of a transaction, a step runs with the setting of its connection, which is on
            // by default.
            foreignKeysAreOn: !step.usesTransaction || step.foreignKeyChecks == .immediate,
            limit: limit
        )
    }

    private func statements(
        _ sources: [SourceStatement],
        _ pass: StepPass,
        _ rows: StepPass?
    ) -> [StatementRecord] {
        zip(sources, pass.statements).enumerated().map { number, pair in
            let (source, statement) = pair
            let withRows = rows.flatMap {
                $0.statements.indices.contains(number) ? $0.statements[number] : nil
            }
            let parsed = ParsedStatement(source.text)
            let isConsequence = statement.failure != nil && missing.concern(parsed)
            if statement.failure != nil { missing.add(parsed) }
            return StatementRecord(
                text: source.text,
                place: source.place,
                parsed: parsed,
                before: statement.before,
                after: statement.after,
                actions: statement.actions,
                failure: statement.failure,
                failsAsConsequence: isConsequence,
                failureWithRows: withRows?.failure,
                rows: withRows?.rows ?? [:],
                foreignKeysAreOn: statement.foreignKeysAreOn
            )
        }
    }

    // MARK: - Rows

    /// A copy of the database with rows in every table that the statements can reach.
    private func fill(
        for sources: [SourceStatement],
        _ schema: SchemaModel
    ) throws -> (database: ScratchDatabase, counts: [String: Int])? {
        var names: Set<String> = []
        for source in sources {
            for word in SQLWord.all(in: source.text) where !word.isLiteral {
                names.insert(word.name.lowercased())
            }
        }
        let tables = schema.reachable(from: names)
        guard !tables.isEmpty else { return nil }
        let filled = try base.copy()
        RowGenerator(for: filled, schema: schema).fill(tables)
        return (filled, filled.rowCounts(of: tables).filter { $0.value > 0 })
    }

    private func changedTables(_ statements: [StatementRecord]) -> Set<String> {
        Set(
            statements.flatMap { statement in
                statement.actions.filter { [.insert, .update, .delete, .alter].contains($0.kind) }
                    .flatMap { [$0.name.lowercased(), $0.detail?.lowercased() ?? ""] }
            }
        )
    }

    // MARK: - The Way Down

    private func down(
        of step: MigrationStep<Database>,
        from schema: SchemaModel
    ) throws -> DownRecord? {
        if let sql = folder?.scripts[step.identifier] {
            let sources = sql.downStatements.map(SourceStatement.init)
            guard !sources.isEmpty else { return nil }
            let pass = try StepPass(sources, on: base.copy(), schema: schema, settings(of: step))
            return DownRecord(
                statements: statements(sources, pass, nil),
                after: pass.schema,
                failure: (pass.statements.lazy.compactMap(\.failure).first ?? pass.commitFailure)?
                    .message
            )
        }
        guard let rollback = step.rollback else { return nil }
        let (_, result) = try trace(step, rollback)
        return DownRecord(
            statements: [],
            after: try result.queue.inDatabase(SchemaReader().schema),
            failure: result.incomplete
        )
    }
}

/// Why a check ended early, as the end of a sentence.
enum StopReason {
    static let time = "it doesn't end"
}

/// The objects that don't exist since a statement failed.
private struct MissingObjects {
    private var names: Set<String> = []
    private var isUnknown = false

    mutating func add(_ statement: ParsedStatement) {
        if let name = statement.target { names.insert(name.lowercased()) }
        switch statement.kind {
        case .renameTable(_, let new), .renameColumn(_, _, let new): names.insert(new.lowercased())
        default: break
        }
    }

    mutating func addAll() {
        isUnknown = true
    }

    /// Whether a statement needs one of them.
    func concern(_ statement: ParsedStatement) -> Bool {
        isUnknown || statement.words.contains { names.contains($0.name.lowercased()) }
    }
}

extension SchemaModel {
    /// The tables that statements with these words can reach: those named, those that triggers of
    /// them or views name, and all their parents and children.
    fileprivate func reachable(from names: Set<String>) -> Set<String> {
        var found: Set<String> = []
        var open = names.filter { tables[$0] != nil || views[$0] != nil }
        while let name = open.popFirst() {
            guard found.insert(name).inserted else { continue }
            if let table = tables[name] {
                open.formUnion(table.foreignKeys.map { $0.table.lowercased() })
                open.formUnion(children(of: name).map { $0.table.name.lowercased() })
            }
            let texts = triggers(of: name).map(\.definition) + [views[name]?.definition ?? ""]
            for text in texts {
                for word in text.split(separator: " ") {
                    let word = CanonicalSQL.name(String(word)).lowercased()
                    if tables[word] != nil || views[word] != nil { open.insert(word) }
                }
            }
        }
        return found.filter { tables[$0] != nil }
    }
}
