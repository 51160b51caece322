import Foundation
import GRDB
import MigrationKit
import MigrationKitSchema
import TestSupport
import Testing

/// Random pairs of schemas: a newer version migrates a store and writes rows, an older one that has
/// never heard of its step takes it back, and the newer one comes again.
@Suite struct RandomDowngradeTests {
    private static let numbers = RandomPair.numbers(100)

    @Test func whatIsLostIsAnnouncedAndNothingElse() throws {
        var counts: [String: Int] = [:]
        var failures = 0
        for number in Self.numbers {
            let pair = RandomPair(number: number)
            var problems: [String] = []
            do {
                var run = try DowngradeRun(pair)
                problems = try run.problems()
                for kind in run.kinds { counts[kind, default: 0] += 1 }
            } catch {
                problems = ["\(error)"]
            }
            guard problems.isEmpty else {
                Issue.record("\(problems.prefix(8).joined(separator: "\n"))\n\(pair)")
                failures += 1
                if failures == 3 { return }
                continue
            }
        }
        if Self.numbers.count > 1000 { print("\(Self.numbers):", counts) }
        #expect(counts["taken back", default: 0] > Self.numbers.count / 3)
    }
}

/// One pair: what the store has before and after, and what was announced.
private struct DowngradeRun {
    private let pair: RandomPair
    private let store: EncryptedStore?
    private let queue: DatabaseQueue
    private let steps: [MigrationStep<Database>]
    /// What happened, for a report.
    private(set) var kinds: [String] = []

    init(_ pair: RandomPair) throws {
        self.pair = pair
        // A file takes longer. Only of a file there is a copy.
        store = pair.number % 10 == 0 ? try EncryptedStore() : nil
        queue = try store?.open() ?? DatabaseQueue()
        let from = try DatabaseSchema(sql: pair.fromStatements.joined(separator: ";\n"))
        let to = try DatabaseSchema(sql: pair.toStatements.joined(separator: ";\n"))
        let migration = try SchemaMigration(
            SchemaDifference(from: from, to: to, renames: pair.schemaRenames),
            backfills: pair.backfills
        )
        let lossy = Self.lossyStatements(pair)
        steps = [
            Self.step("1", pair.fromStatements + pair.inserts),
            Self.step("2", migration.up, down: migration.down + lossy),
        ]
    }

    private static func step(_ name: String, _ statements: [String], down: [String]? = nil)
        -> MigrationStep<Database>
    {
        MigrationStep(
            identifier: name,
            checksum: statements.joined(),
            rollbackSQL: down?.joined(separator: ";\n"),
            apply: { db in for statement in statements { try db.execute(sql: statement) } }
        )
    }

    /// What a way back may do to rows of the older schema, which has them then.
    private static func lossyStatements(_ pair: RandomPair) -> [String] {
        var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(pair.number))
        return (0..<Int.random(in: 0...2, using: &random)).compactMap { _ in
            guard let table = pair.from.tables.randomElement(using: &random),
                let column = table.columns.filter({ $0.generated == nil })
                    .randomElement(using: &random),
                let other = table.columns.filter({ $0.generated == nil })
                    .randomElement(using: &random)
            else { return nil }
            let (name, value) = (table.name.quoted, column.name.quoted)
            let some = "WHERE length(hex(\(other.name.quoted))) % 4 = 2"
            return [
                "DELETE FROM \(name)", "DELETE FROM \(name) \(some)",
                "UPDATE OR IGNORE \(name) SET \(value) = NULL",
                "UPDATE OR IGNORE \(name) SET \(value) = \(value) + 1 \(some)",
                // As long as before.
                "UPDATE OR IGNORE \(name) SET \(value) = substr(\(value), 2) || 'z' \(some)",
                "UPDATE OR IGNORE \(name) SET \(value) = \(other.name.quoted)",
                "UPDATE OR REPLACE \(name) SET \(value) = 7 \(some)",
                "DELETE FROM \(name) \(some); "
                    + "UPDATE OR IGNORE \(name) SET \(value) = upper(\(value)) || ''",
            ].randomElement(using: &random)
        }
    }

    mutating func problems() throws -> [String] {
        let newer = try GRDBMigrationRunner(steps: steps)
        let older = try GRDBMigrationRunner(steps: [steps[0]])
        do {
            try newer.migrate(in: queue)
        } catch is DatabaseError {
            kinds.append("not migrated")
            return []
        } catch is GRDBMigrationVerificationError {
            kinds.append("not migrated")
            return []
        }
        let schema = try queue.read(DatabaseSchema.init(of:))
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            for sql in pair.newerInserts {
                // Rows that the wanted schema refuses.
                try? db.execute(sql: sql)
            }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
            try Self.dropOrphans(db)
        }
        let everything = try Everything(of: queue)
        let before = try queue.read { try Self.tables(of: pair.to, in: $0) }
        var announced: MigrationDowngrade?
        let losses: [MigrationDowngrade.Loss]
        let backup: String?
        do {
            if pair.number.isMultiple(of: 5) {
                announced = try older.plannedDowngrade(in: queue)
            }
            (_, losses, backup) = try older.downgrade(in: queue)
        } catch {
            guard error is DatabaseError || error is GRDBMigrationVerificationError else {
                throw error
            }
            kinds.append("refused")
            return try Everything(of: queue) == everything
                ? [] : ["a refused downgrade has changed something"]
        }
        kinds.append("taken back")
        var problems: [String] = []
        if let announced, announced.losses != losses {
            problems.append("announced \(announced.losses), and lost \(losses)")
        }
        let fresh = try DatabaseQueue()
        try GRDBMigrationRunner(steps: [steps[0]]).migrate(in: fresh)
        problems += try SchemaDifference(
            from: queue.read(DatabaseSchema.init(of:)),
            to: fresh.read(DatabaseSchema.init(of:))
        ).changes.map { "the older schema: \($0)" }
        let after = try queue.read { try Self.tables(of: pair.from, in: $0) }
        problems += Judge(losses, before: before, after: after).problems
        if !losses.isEmpty { kinds.append("with losses") }
        if losses.isEmpty, before.contains(where: { !$0.rows.isEmpty }) {
            kinds.append("rows without losses")
        }

        if store != nil {
            let copy = try DatabaseQueue(path: backup ?? "", configuration: queue.configuration)
            if try Everything(of: copy) != everything { problems.append("the copy differs") }
            try copy.close()
        }

        do {
            try newer.migrate(in: queue)
        } catch is DatabaseError {
            kinds.append("not migrated again")
            return problems
        } catch is GRDBMigrationVerificationError {
            kinds.append("not migrated again")
            return problems
        }
        problems += try SchemaDifference(
            from: queue.read(DatabaseSchema.init(of:)),
            to: schema
        ).changes.map { "the newer schema: \($0)" }
        return problems
    }

    private static func dropOrphans(_ db: Database) throws {
        for _ in 0..<20 {
            let orphans = try Row.fetchAll(db, sql: "PRAGMA foreign_key_check")
            guard !orphans.isEmpty else { return }
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            for table in Set(orphans.map { $0[0] as String }) {
                let ids = orphans.filter { $0[0] == table }.compactMap { $0[1] as Int64? }
                // Those of a table without rowids aren't named.
                let rows =
                    ids.isEmpty
                    ? "" : " WHERE rowid IN (\(ids.map(String.init).joined(separator: ",")))"
                try db.execute(sql: "DELETE FROM \(table.quoted)\(rows)")
            }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
        }
    }

    // MARK: - What Is There

    /// A table as the sketch has it: its number and those of its columns stay when they are renamed.
    fileprivate struct Table {
        let number: Int
        let name: String
        let columns: [(number: Int, name: String)]
        let rows: [(id: DatabaseValue, values: [Int: DatabaseValue])]
    }

    private static func tables(of sketch: SchemaSketch, in db: Database) throws -> [Table] {
        try sketch.tables.map { table in
            let columns = table.columns.map { "\($0.name.quoted)" }
            let id = table.isWithoutRowID ? "NULL" : "rowid"
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT \(id), \(columns.joined(separator: ", ")) FROM \(table.name.quoted)"
            )
            return Table(
                number: table.number,
                name: table.name,
                columns: table.columns.map { ($0.number, $0.name) },
                rows: rows.map { row in
                    let values = table.columns.enumerated().map { place, column in
                        (column.number, row[place + 1] as DatabaseValue)
                    }
                    return (row[0], Dictionary(uniqueKeysWithValues: values))
                }
            )
        }
    }

    /// Holds what was announced against what is there.
    private struct Judge {
        let losses: [MigrationDowngrade.Loss]
        private(set) var problems: [String] = []

        init(_ losses: [MigrationDowngrade.Loss], before: [Table], after: [Table]) {
            self.losses = losses
            for old in before {
                let announced = losses.filter { $0.table.lowercased() == old.name.lowercased() }
                guard let new = after.first(where: { $0.number == old.number }) else {
                    if announced.map(\.kind) != [.table] || announced[0].rows != old.rows.count {
                        problems.append("\(old.name) is gone: \(announced)")
                    }
                    continue
                }
                judge(announced, old, new)
            }
        }

        private mutating func judge(
            _ announced: [MigrationDowngrade.Loss],
            _ old: Table,
            _ new: Table
        ) {
            let kept = old.columns.filter { column in
                new.columns.contains { $0.number == column.number }
            }
            var isLossy = false
            let isWhole = announced.contains { $0.kind == .table }
            for column in old.columns where !kept.contains(where: { $0.number == column.number }) {
                let count = old.rows.count { $0.values[column.number]?.isNull == false }
                isLossy = isLossy || count > 0
                let found = announced.first { $0.kind == .column && $0.isOf(column.name) }
                if count > 0, found?.rows != count, !isWhole {
                    problems.append("\(old.name).\(column.name) is gone: \(announced)")
                }
            }
            let all = Self.missing(old, new, kept.map(\.number))
            isLossy = isLossy || all > 0
            // One that was renamed and whose values have changed is announced as a whole.
            let renamed = kept.filter { column in
                announced.contains { $0.kind == .column && $0.isOf(column.name) }
            }
            if !renamed.isEmpty, all == 0 {
                problems.append("\(old.name) has renamed columns: \(announced)")
            }
            let told = kept.map(\.number).filter { number in
                !renamed.contains { $0.number == number }
            }
            let missing = Self.missing(old, new, told)
            let rest = announced.filter { $0.kind != .column }
            if missing > 0, rest.isEmpty {
                problems.append("\(missing) rows of \(old.name) are others: \(announced)")
            }
            let real = rest.filter { $0.rows > 0 || $0.kind == .values }
            if missing == 0, !isWhole, !real.isEmpty {
                problems.append("nothing of \(old.name) is lost: \(announced)")
            }
            if isWhole, !isLossy { problems.append("\(old.name) was renamed: \(announced)") }
            // As many rows have gone, or have other values, as are named.
            let named = real.map(\.rows).reduce(0, +)
            if !isWhole, missing > named {
                problems.append("\(missing) rows of \(old.name) are others: \(announced)")
            }
        }

        /// How many rows aren't there any more with their values in the columns that stay.
        private static func missing(_ old: Table, _ new: Table, _ columns: [Int]) -> Int {
            func text(_ row: (id: DatabaseValue, values: [Int: DatabaseValue])) -> String {
                columns.map { plain(row.values[$0] ?? .null) }.joined(separator: "|")
            }
            var counts: [String: Int] = [:]
            for row in new.rows { counts[text(row), default: 0] += 1 }
            return old.rows.count { row in
                let text = text(row)
                let count = counts[text, default: 0]
                if count > 0 { counts[text] = count - 1 }
                return count == 0
            }
        }

        /// A number is the same as its text.
        private static func plain(_ value: DatabaseValue) -> String {
            switch value.storage {
            case .null: "NULL"
            case .int64(let number): hex(Data("\(number)".utf8))
            case .double(let number): hex(Data(text(number).utf8))
            case .string(let text): hex(Data(text.utf8))
            case .blob(let data): "blob " + hex(data)
            }
        }

        /// As SQLite writes it: 1.0e+300.
        private static func text(_ number: Double) -> String {
            if let whole = Int64(exactly: number) { return "\(whole)" }
            let text = String(format: "%.15g", number)
            guard !text.contains("."), let end = text.firstIndex(of: "e") else { return text }
            return text[..<end] + ".0" + text[end...]
        }

        private static func hex(_ data: Data) -> String {
            data.map { String($0, radix: 16) }.joined(separator: ".") + "x"
        }
    }
}

extension MigrationDowngrade.Loss {
    /// The pair may be spelled in another way.
    fileprivate func isOf(_ column: String) -> Bool {
        self.column?.lowercased() == column.lowercased()
    }
}
