import Foundation
import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// Random schemas and contents, rebuilt, and compared by plain SQL.
///
/// `TESTS_EXPORT_REBUILDS` names a file that
/// gets them, a JSON document a line, for `Scripts/compare-rebuilds`.
@Suite struct RandomRebuildTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let count = Samples.count(100)

    @Test func nothingDiffersAfterARebuild() throws {
        var changes: [RandomSchema.Change: Int] = [:]
        var features: [String: Int] = [:]
        for number in 0..<Self.count {
            let seed = SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001
            let schema = RandomSchema(seed: seed)
            for feature in schema.features { features[feature, default: 0] += 1 }
            changes[schema.change, default: 0] += 1
            let differences: [String]
            do {
                differences = try rebuild(schema, seed: seed)
            } catch {
                Issue.record("\(error) (\(number), TESTS_SEED=\(SeededGenerator.seed))")
                print(schema.setup.joined(separator: ";\n"), schema.change, schema.definition)
                return
            }
            guard differences.isEmpty else {
                Issue.record(
                    """
                    \(differences.prefix(5).joined(separator: "\n"))
                    \(number), \(schema.change), TESTS_SEED=\(SeededGenerator.seed):
                    \(schema.setup.joined(separator: ";\n"));
                    \(schema.definition)
                    """
                )
                return
            }
        }
        if Self.count > 1000 {
            let list = features.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            print(
                "\(Self.count) rebuilds without a difference:",
                changes.map { "\($0.key) \($0.value)" }.sorted()
            )
            print(list.joined(separator: "\n"))
        }
    }

    @Test(.enabled(if: environment["TESTS_EXPORT_REBUILDS"] != nil))
    func schemasAreExported() throws {
        let path = try #require(Self.environment["TESTS_EXPORT_REBUILDS"])
        let encoder = JSONEncoder()
        let lines = try (0..<Self.count).map { number in
            let seed = SeededGenerator.seed &+ UInt64(number) &* 0x1_0000_0001
            return String(decoding: try encoder.encode(RandomSchema(seed: seed)), as: UTF8.self)
        }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))
    }

    // MARK: One rebuild

    /// Where the rebuild runs.
    private enum Place: CaseIterable {
        /// In a transaction, with foreign keys off.
        case off
        /// In a step of the runner, on a connection with foreign keys on.
        case step
        /// Outside of a transaction, with foreign keys on.
        case outside
        /// In a transaction, with foreign keys on. With children that is refused, and repeated outside.
        case inside
    }

    private func rebuild(_ schema: RandomSchema, seed: UInt64) throws -> [String] {
        var random = SeededGenerator(seed: seed ^ 0xabcd)
        var place = try #require(Place.allCases.randomElement(using: &random))
        if schema.features.contains("orphans"), place == .step { place = .off }
        var configuration = Configuration()
        configuration.foreignKeysEnabled = place != .off
        let queue = try DatabaseQueue(configuration: configuration)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            for statement in schema.setup { try db.execute(sql: statement) }
            try db.execute(sql: "PRAGMA foreign_keys = \(place == .off ? "OFF" : "ON")")
        }
        let before = try queue.read(DatabaseDump.init(of:))
        let apply: @Sendable (Database) throws -> Void = { try Self.change(schema, in: $0) }
        switch place {
        case .off where schema.change == .identity:
            // As 'create --rebuild' writes them.
            try queue.write { db in
                for statement in try TableRebuild(of: schema.table, in: db).statements {
                    try db.execute(sql: statement)
                }
            }
        case .off: try queue.write(apply)
        case .outside: try queue.writeWithoutTransaction(apply)
        case .step:
            let step = MigrationStep<Database>(identifier: "1", sourceFile: "", apply: apply)
            try GRDBMigrationRunner(steps: [step]).migrate(in: queue)
        case .inside where schema.hasChildren:
            #expect(throws: TableRebuildError.self) { try queue.write(apply) }
            let untouched = try queue.read(DatabaseDump.init(of:)).differences(from: before)
            guard untouched.isEmpty else { return untouched }
            try queue.writeWithoutTransaction(apply)
        case .inside: try queue.write(apply)
        }
        let after = try queue.read(DatabaseDump.init(of:))
        let expected = before.changed(by: schema)
        var differences = after.differences(from: expected)
        if try queue.read({ try Bool.fetchOne($0, sql: "PRAGMA foreign_keys") }) != (place != .off)
        {
            differences.append("PRAGMA foreign_keys")
        }
        if schema.features.contains("FTS5 content table") {
            // With the argument 1, the index is compared with the content table.
            try queue.write {
                try $0.execute(
                    sql: "INSERT INTO search (search, rank) VALUES ('integrity-check', 1)"
                )
            }
        }
        return differences
    }

    private static func change(_ schema: RandomSchema, in db: Database) throws {
        switch schema.change {
        case .identity, .add, .type, .require:
            try db.rebuild(schema.table, as: schema.definition)
        case .rename:
            try db.rebuild(
                schema.table,
                as: schema.definition,
                columns: [schema.detail: schema.column]
            )
        case .drop:
            try db.rebuild(
                schema.table,
                as: schema.definition,
                dropping: [.column(schema.column)]
            )
        }
    }
}

/// Everything that a database holds, read with SQL alone.
struct DatabaseDump {
    /// The rows of each table: values with their types by column. `rowid` is one of them.
    private(set) var rows: [String: [[String: String]]] = [:]
    /// The type, name, table and SQL of each object.
    private(set) var schema: Set<[String]> = []
    /// What pragmas say of indexes and foreign keys, and what checks say.
    private(set) var facts: Set<[String]> = []

    init(of db: Database) throws {
        let tables = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_schema
                WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'grdb%'
                """
        )
        for table in tables {
            let columns = try String.fetchAll(
                db,
                sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1",
                arguments: [table]
            )
            let hasRowID = try Bool.fetchOne(
                db,
                sql: "SELECT wr = 0 FROM pragma_table_list WHERE name = ?",
                arguments: [table]
            )
            // The order of the marks and of the statistics has no meaning.
            let rowID = hasRowID == true && !table.hasPrefix("sqlite_") ? ["rowid"] : []
            let names = rowID + columns
            let list = names.map { "quote(\($0.quoted)) || ' ' || typeof(\($0.quoted))" }
            rows[table] = try Row.fetchAll(
                db,
                sql: "SELECT \(list.joined(separator: ", ")) FROM \(table.quoted)"
            ).map { row in
                Dictionary(uniqueKeysWithValues: names.enumerated().map { ($1, row[$0]) })
            }
        }
        schema = try Self.list(
            db,
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE tbl_name NOT LIKE 'grdb%'"
        )
        for query in [
            "SELECT 'index', m.name, x.seqno, x.name, x.\"desc\", x.coll, x.key FROM sqlite_schema AS m, pragma_index_xinfo(m.name) AS x WHERE m.type = 'index' AND m.tbl_name NOT LIKE 'grdb%'",
            "SELECT 'key', m.name, k.* FROM sqlite_schema AS m, pragma_foreign_key_list(m.name) AS k WHERE m.type = 'table'",
            "SELECT 'kind', name, type, wr, strict FROM pragma_table_list WHERE name NOT LIKE 'grdb%' AND schema = 'main'",
            "PRAGMA integrity_check", "PRAGMA foreign_key_check",
        ] { facts.formUnion(try Self.list(db, query)) }
        // SQLite fires the triggers of a table in an order that depends on that of the schema.
        for table in tables + ["titles"] {
            let triggers = try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ? ORDER BY rowid",
                arguments: [table]
            )
            facts.insert(["triggers", table] + triggers)
        }
    }

    private static func list(_ db: Database, _ sql: String) throws -> Set<[String]> {
        Set(
            try Row.fetchAll(db, sql: sql).map { row in
                row.databaseValues.map { String.fromDatabaseValue($0) ?? $0.description }
            }
        )
    }

    /// What the dump must be after the change of a schema.
    func changed(by change: RandomSchema) -> DatabaseDump {
        var dump = self
        var table = rows[change.table] ?? []
        for index in table.indices {
            switch change.change {
            case .identity, .require: break
            case .add:
                table[index][change.column] =
                    switch change.detail {
                    case "TEXT": "NULL null"
                    case "TEXT DEFAULT 'new'": "'new' text"
                    default: "5 integer"
                    }
            case .rename:
                table[index][change.detail] = table[index].removeValue(forKey: change.column)
            case .drop: table[index][change.column] = nil
            case .type:
                let value = table[index][change.column] ?? ""
                guard value.hasSuffix(" integer") else { continue }
                table[index][change.column] = "'\(value.dropLast(" integer".count))' text"
            }
        }
        dump.rows[change.table] = table
        func renamed(_ entry: [String]) -> [String] {
            guard change.change == .rename else { return entry }
            // SQLite puts new names into quotes where old ones had some, or everywhere.
            return entry.map { text in
                text.contains(change.column)
                    ? text.replacing("\"\(change.column)\"", with: change.detail)
                        .replacing(change.column, with: change.detail) : text
            }
        }
        dump.schema = Set(
            schema.map { entry in
                entry[0] == "table" && entry[1] == change.table
                    ? [entry[0], entry[1], entry[2], change.definition] : renamed(entry)
            }
        )
        dump.facts = Set(facts.map(renamed))
        return dump
    }

    func differences(from expected: DatabaseDump) -> [String] {
        var result: [String] = []
        func bag(_ rows: [[String: String]]?) -> [String: Int] {
            (rows ?? []).reduce(into: [:]) { bag, row in
                bag[
                    row.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "|"),
                    default: 0
                ] += 1
            }
        }
        for table in Set(rows.keys).union(expected.rows.keys).sorted() {
            let (mine, its) = (bag(rows[table]), bag(expected.rows[table]))
            guard mine != its else { continue }
            result.append(
                "rows of \(table): \(mine.filter { its[$0.key] != $0.value }) for \(its.filter { mine[$0.key] != $0.value })"
            )
        }
        func plain(_ entries: Set<[String]>) -> Set<[String]> {
            Set(entries.map { $0.map { $0.replacing("\"plain_new\"", with: "plain_new") } })
        }
        for (mine, its) in [
            (plain(schema), plain(expected.schema)), (plain(facts), plain(expected.facts)),
        ] {
            result += its.subtracting(mine).map { "missing: \($0)" }
            result += mine.subtracting(its).map { "new: \($0)" }
        }
        return result
    }
}
