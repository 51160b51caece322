import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport

/// What happened in all pairs.
struct Tally: CustomStringConvertible {
    var failures = 0
    var kinds: [String: Int] = [:]
    var hazards: [String: Int] = [:]

    var description: String {
        func list(_ counts: [String: Int]) -> String {
            counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(
                separator: ", "
            )
        }
        return list(kinds) + "; hazards: " + list(hazards)
    }
}

/// One pair: its migration, and what the rows must be.
struct PairRun {
    let pair: RandomPair
    let queue: DatabaseQueue
    let store: EncryptedStore?
    let migration: SchemaMigration
    let from: DatabaseSchema
    let to: DatabaseSchema

    init(_ pair: RandomPair, isEncrypted: Bool) throws {
        self.pair = pair
        store = isEncrypted ? try EncryptedStore() : nil
        queue = try store?.open() ?? DatabaseQueue()
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            for statement in pair.fromStatements + pair.inserts { try db.execute(sql: statement) }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
        from = try queue.read { try DatabaseSchema(of: $0) }
        to = try DatabaseSchema(sql: pair.toStatements.joined(separator: ";\n"))
        migration = try SchemaMigration(
            SchemaDifference(from: from, to: to, renames: pair.schemaRenames),
            backfills: pair.backfills
        )
    }

    func problems(_ tally: inout Tally) throws -> [String] {
        for hazard in migration.hazards { tally.hazards[hazard.kind.rawValue, default: 0] += 1 }
        var problems = missingHazards()
        let sure = try counts(where: Self.isSure)
        let counts = try sure + counts { Self.mayRefuse($0) && !Self.isSure($0) }
        let original = try rows(\.from)
        if let refusal = refusal(of: migration.up) {
            if !isNamed(refusal) { problems.append("refused without a hazard: \(refusal)") }
            if counts.allSatisfy({ $0 == 0 }) {
                problems.append("refused, but no hazard counts a row: \(refusal)")
            }
            tally.kinds["refused as a hazard says", default: 0] += 1
            if try rows(\.from) != original { problems.append("a refusal has changed rows") }
            try empty()
            return try problems + roundTrip(&tally)
        }
        if sure.contains(where: { $0 > 0 }) {
            problems.append("not refused, but hazards count rows: \(sure)")
        }
        if migration.up.isEmpty { tally.kinds["no difference", default: 0] += 1 }
        if !migration.hazards.contains(where: { $0.kind == .rewritesTable }) {
            tally.kinds["without a rebuild", default: 0] += 1
        }
        return try problems + afterUp(original, &tally)
    }

    // MARK: Steps

    private func afterUp(_ original: Rows, _ tally: inout Tally) throws -> [String] {
        var problems = try schemaProblems(to, "up")
        let first = try rows(\.to)
        problems += first.differences(from: original, leavingOut: narrowed, "up")
        if let refusal = refusal(of: migration.down) {
            tally.kinds["way back refused", default: 0] += 1
            if migration.notBroughtBack.isEmpty {
                problems.append("way back refused: \(refusal)")
            }
            try empty()
            return try problems + roundTrip(startsWithUp: false, &tally)
        }
        problems += try schemaProblems(from, "down")
        problems += try rows(\.from).differences(from: original, leavingOut: narrowed, "down")
        if let refusal = refusal(of: migration.up) {
            // The values of columns that came back are others than before.
            if migration.notBroughtBack.isEmpty || !isNamed(refusal) {
                problems.append("applying it again is refused: \(refusal)")
            }
            return problems
        }
        problems += try schemaProblems(to, "up again")
        problems += try rows(\.to).differences(from: original, leavingOut: narrowed, "up again")
        tally.kinds["up, down, up with rows", default: 0] += 1
        return problems
    }

    /// Runs both ways without rows.
    private func roundTrip(
        startsWithUp: Bool = true,
        _ tally: inout Tally
    ) throws -> [String] {
        var problems: [String] = []
        let ways: [(statements: [String], schema: DatabaseSchema, name: String)] = [
            (migration.up, to, "up"), (migration.down, from, "down"),
            (migration.up, to, "up again"),
        ]
        for way in ways.dropFirst(startsWithUp ? 0 : 1) {
            if let refusal = refusal(of: way.statements) {
                problems.append("\(way.name) of empty tables is refused: \(refusal)")
                return problems
            }
            problems += try schemaProblems(way.schema, way.name)
        }
        return problems
    }

    /// Runs the statements as a step of the runner does.
    ///
    /// - Returns: Why SQLite refuses a row; `nil` if all is done.
    private func refusal(of statements: [String]) -> String? {
        do {
            if store != nil {
                let step = MigrationStep<Database>(identifier: "1", sourceFile: "") { db in
                    for statement in statements { try db.execute(sql: statement) }
                }
                try GRDBMigrationRunner(steps: [step]).migrate(in: queue)
                try queue.writeWithoutTransaction { db in
                    try db.execute(sql: "DROP TABLE grdb_migrations")
                    try db.execute(sql: "DROP TABLE grdb_migrationkit_journal")
                }
            } else {
                try queue.run(statements)
            }
            return nil
        } catch {
            return (error as? DatabaseError).map { $0.message ?? "\($0.resultCode)" } ?? "\(error)"
        }
    }

    private func empty() throws {
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            let tables = try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'
                    AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'grdb%'
                    """
            )
            let triggers = try Row.fetchAll(
                db,
                sql: "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
            )
            for trigger in triggers {
                try db.execute(sql: "DROP TRIGGER \((trigger[0] as String).quoted)")
            }
            for table in tables { try db.execute(sql: "DELETE FROM \(table.quoted)") }
            for search in try db.searches {
                try db.execute(sql: "INSERT INTO \(search) (\(search)) VALUES ('rebuild')")
            }
            for trigger in triggers { try db.execute(sql: trigger[1]) }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
    }

    // MARK: Hazards

    /// The hazards whose query counts exactly what would be refused.
    private static func isSure(_ hazard: SchemaHazard) -> Bool {
        switch hazard.kind {
        case .mayViolateNotNull: !hazard.message.contains("get a number")
        case .mayViolateUnique, .mayViolateForeignKey: true
        case .mayViolateCheck, .mayViolateStrict: true
        default: false
        }
    }

    /// What hazards count; 1 for those that can't be asked.
    private func counts(where isCounted: (SchemaHazard) -> Bool) throws -> [Int] {
        try migration.hazards.filter(isCounted).map { hazard in
            guard let query = hazard.countQuery else { return Self.isSure(hazard) ? 0 : 1 }
            return try queue.read { try Int.fetchOne($0, sql: query) } ?? 0
        }
    }

    private static func mayRefuse(_ hazard: SchemaHazard) -> Bool {
        switch hazard.kind {
        case .dropTable, .dropColumn, .reusesRowIDs, .rewritesTable: false
        default: true
        }
    }

    private func isNamed(_ refusal: String) -> Bool {
        let kinds: Set<SchemaHazard.Kind> =
            if refusal.contains("changes its value") || refusal.contains("datatype mismatch") {
                [.narrowsType]
            } else if refusal.contains("NOT NULL constraint") {
                [.mayViolateNotNull]
            } else if refusal.contains("UNIQUE constraint") {
                [.mayViolateUnique]
            } else if refusal.contains("CHECK constraint") {
                [.mayViolateCheck]
            } else if refusal.contains("cannot store") {
                [.mayViolateStrict, .narrowsType]
            } else if refusal.uppercased().contains("FOREIGN KEY") {
                [.mayViolateForeignKey]
            } else {
                []
            }
        return migration.hazards.contains { kinds.contains($0.kind) }
    }

    /// Dropped tables and columns, and contents of full-text indexes, that no hazard names.
    private func missingHazards() -> [String] {
        var missing: [String] = []
        for old in pair.from.tables {
            guard let new = pair.to.table(old.number) else {
                if !names(.dropTable, old.name, nil) { missing.append("table \(old.name)") }
                continue
            }
            for column in old.columns where column.generated == nil {
                if new.column(column.number) == nil, !names(.dropColumn, old.name, column.name) {
                    missing.append("column \(old.name).\(column.name)")
                }
            }
        }
        for search in pair.from.searches where !search.isExternal {
            let start = "CREATE VIRTUAL TABLE \(search.name) "
            let (before, after) = (pair.fromStatements, pair.toStatements)
            let isKept = before.contains { $0.hasPrefix(start) && after.contains($0) }
            if !isKept, !names(.dropTable, search.name, nil) {
                missing.append("content of \(search.name)")
            }
        }
        return missing.map { "no hazard names \($0)" }
    }

    private func names(_ kind: SchemaHazard.Kind, _ table: String, _ column: String?) -> Bool {
        migration.hazards.contains { $0.kind == kind && $0.table == table && $0.column == column }
    }

    /// The columns whose values may become others.
    private var narrowed: Set<String> {
        Set(
            migration.hazards.filter { $0.kind == .narrowsType }
                .map { "\($0.table).\($0.column ?? "")" }
        )
    }

    // MARK: Schema and rows

    private func schemaProblems(_ wanted: DatabaseSchema, _ way: String) throws -> [String] {
        try queue.read { db in
            let difference = try SchemaDifference(from: DatabaseSchema(of: db), to: wanted)
            var problems = difference.changes.map { "\(way): still to do: \($0)" }
            let result = try String.fetchOne(db, sql: "PRAGMA integrity_check")
            if result != "ok" { problems.append("\(way): \(result ?? "")") }
            return problems
        } + searchProblems(way)
    }

    /// Full-text indexes that don't agree with the tables that have their content.
    /// <https://www.sqlite.org/fts5.html#the_integrity_check_command>
    private func searchProblems(_ way: String) throws -> [String] {
        try queue.write { db in
            try db.searches.compactMap { name in
                do {
                    try db.execute(
                        sql: "INSERT INTO \(name) (\(name), rank) VALUES ('integrity-check', 1)"
                    )
                    return nil
                } catch {
                    return "\(way): \(name): \(error)"
                }
            }
        }
    }

    /// The rows of the tables that are in both schemas, by names of the present one: of each, the
    /// columns that are in both.
    private func rows(_ side: KeyPath<RandomPair, SchemaSketch>) throws -> Rows {
        try queue.read { db in
            var rows = Rows()
            for (old, new) in pair.pairs {
                let table = side == \.from ? old : new
                let columns = old.columns.compactMap { column -> (String, SchemaSketch.Column)? in
                    guard let other = new.column(column.number), column.generated == nil,
                        other.generated == nil
                    else { return nil }
                    return ("\(old.name).\(column.name)", side == \.from ? column : other)
                }
                var names = columns.map { ($0.0, $0.1.name.quoted) }
                if !old.isWithoutRowID, !new.isWithoutRowID,
                    old.hasRowIDColumn == new.hasRowIDColumn
                {
                    names.append(("rowid", "rowid"))
                }
                rows.tables[old.name] = try Row.fetchAll(
                    db,
                    sql: """
                        SELECT \(names.map { "quote(\($0.1))" }.joined(separator: ", "))
                        FROM \(table.name.quoted)
                        """
                ).map { row in
                    Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1.0, row[$0]) })
                }
            }
            return rows
        }
    }
}

extension Database {
    /// The full-text indexes whose content is in another table.
    fileprivate var searches: [String] {
        get throws {
            try String.fetchAll(
                self,
                sql: "SELECT name FROM sqlite_schema WHERE sql LIKE '%USING fts5(%content=%'"
            )
        }
    }
}

/// Rows with their values as SQL, by table.
private struct Rows: Equatable {
    var tables: [String: [[String: String]]] = [:]

    func differences(from other: Rows, leavingOut columns: Set<String>, _ way: String) -> [String] {
        func plain(_ row: [String: String]) -> String {
            row.filter { !columns.contains($0.key) }.sorted { $0.key < $1.key }.map { key, value in
                // A number may become text.
                "\(key)=\(way == "down" ? value : value.replacing("'", with: ""))"
            }.joined(separator: " ")
        }
        return other.tables.sorted { $0.key < $1.key }.compactMap { name, rows in
            let mine = (tables[name] ?? []).map(plain).sorted()
            let its = rows.map(plain).sorted()
            return mine == its ? nil : "\(way): rows of \(name): \(mine) for \(its)"
        }
    }
}
