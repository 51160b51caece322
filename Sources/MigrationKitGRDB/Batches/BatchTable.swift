import Foundation
import GRDB
import MigrationKit

/// A statement that runs in batches, on a table as it is in a database.
struct BatchTable {
    /// What refuses it is named by its place.
    private let name: String
    private let statement: BatchStatement
    private let reach: BatchReach
    /// What identifies a row: the rowid, or the primary key of a table WITHOUT ROWID.
    private let keys: [String]
    private let isWithoutRowID: Bool
    private let index: String
    /// The foreign keys by which a change of the statement's may touch other rows.
    private let references: [Reference]
    /// What refuses a batch that changes another table by a foreign key; `nil` if none can.
    private var action: String? { references.lazy.compactMap(\.reason).first }

    /// A foreign key to the table that is changed.
    private struct Reference {
        /// The table that has it, folded.
        let child: String
        /// Why it is an obstacle if the row that it refers to is changed; `nil` if SQLite does nothing then.
        let reason: String?
        /// Whether a row of the changed table has one that refers to it, given what it is called.
        let hasChild: (_ qualifier: String) -> String
    }

    /// - Parameter step: The step's identifier.
    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)`.
    init(_ batch: MigrationBatch, of step: String, in db: Database) throws {
        name = batch.place?.description ?? step
        do {
            statement = try BatchStatement(batch.sql)
        } catch {
            throw MigrationKitError.unusableBatch(name, reason: error.reason)
        }
        (keys, index, isWithoutRowID) = try Self.keys(of: statement.table, in: db)
        guard !keys.isEmpty else {
            throw MigrationKitError.unusableBatch(
                name,
                reason: "'\(statement.table)' is no table with a key"
            )
        }
        reach = try BatchReach(batch.sql, statement, in: db)
        if let reason = try reach.obstacle(in: db) {
            throw MigrationKitError.unusableBatch(name, reason: reason)
        }
        // What can't be compiled fails where it runs.
        if let query = statement.addsRowOfNone, (try? Bool.fetchOne(db, sql: query)) == true {
            throw MigrationKitError.unusableBatch(
                name,
                reason: "a batch can't compute what depends on all rows"
            )
        }
        references = try Self.references(of: batch, statement, in: db)
        guard !references.contains(where: { $0.child == statement.changed }) else {
            throw MigrationKitError.unusableBatch(
                name,
                reason: """
                    rows of '\(statement.changed)' refer to others of the same table, which may be in other \
                    batches
                    """
            )
        }
        // What they change can't be told from what a foreign key changes.
        if let action, try hasTrigger(in: db) {
            throw MigrationKitError.unusableBatch(name, reason: action)
        }
    }

    /// Foreign keys are enforced in a batch, since others write meanwhile. What they do then to other
    /// tables, the statement doesn't say. <https://www.sqlite.org/foreignkeys.html#fk_actions>
    private static func references(
        of batch: MigrationBatch,
        _ statement: BatchStatement,
        in db: Database
    ) throws -> [Reference] {
        let shape = try TableShape(statement.changed, in: db)
        let tokens = SQLTokens(batch.sql).tokens
        let assigned = tokens[...].assignedNames.map(Set.init)
        // Whose rows they are about doesn't matter here.
        let added = try BatchQuestions(tokens, statement, walked: nil, changed: shape, in: db).added
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name, f.id, f.on_delete, f.on_update, f."from", coalesce(f."to", p.name)
                FROM main.sqlite_schema AS m, pragma_foreign_key_list(m.name, 'main') AS f
                    LEFT JOIN pragma_table_info(?1, 'main') AS p ON f."to" IS NULL AND p.pk = f.seq + 1
                WHERE m.type = 'table' AND f."table" = ?1 COLLATE NOCASE ORDER BY 1, 2
                """,
            arguments: [statement.changed]
        )
        let keys = Dictionary(grouping: rows) { "\($0[1] as Int) \($0[0] as String)" }
        return keys.sorted { $0.key < $1.key }.compactMap { _, rows in
            let child: String = rows[0][0]
            func names(_ place: Int) -> [String] { rows.map { ($0[place] as String?) ?? "" } }
            let parents = Set(names(5).map(\.foldedName))
            switch statement.verb {
            case .delete: break
            case .update:
                guard let assigned else { break }
                let isRowid = shape?.rowid.map(parents.contains) ?? true
                let rowidNames = isRowid ? shape?.rowidNames ?? [] : []
                guard !assigned.isDisjoint(with: parents.union(rowidNames)) else { return nil }
            case .insert:
                // Only the order counts: the row that is referred to must be there first.
                let columns = names(4).map(\.foldedName)
                let isOwn = child.foldedName == statement.changed
                guard !isOwn || added.isEmpty || columns.contains(where: { added[$0] != nil })
                else { return nil }
            }
            let action: String = rows[0][statement.verb == .delete ? 2 : 3]
            let acts = statement.verb != .insert && !["NO ACTION", "RESTRICT"].contains(action)
            let pairs = zip(names(4), names(5))
            return Reference(
                child: child.foldedName,
                reason: acts
                    ? """
                    '\(child)' refers to '\(statement.table)' with \(action), and would be changed, too: \
                    change its rows first
                    """ : nil
            ) { qualifier in
                let equal = pairs.map {
                    "child.\($0.quotedName) = \(qualifier).\($1.quotedName)"
                }
                return """
                    EXISTS (SELECT 1 FROM main.\(child.quotedName) AS child
                    WHERE \(equal.joined(separator: " AND ")))
                    """
            }
        }
    }

    /// Throws if the statement would change another table by a foreign key now.
    ///
    /// - Parameter earlier: The statements before it. They may change the other table's rows first.
    func checkActions(after earlier: ArraySlice<BatchTable>, in db: Database) throws {
        for reference in references {
            guard let reason = reference.reason,
                !earlier.contains(where: { $0.statement.changed == reference.child })
            else { continue }
            let sql = statement.isPending(where: reference.hasChild(statement.qualifier))
            // What is about further tables doesn't compile.
            let reaches = (try? Bool.fetchOne(db, sql: "SELECT \(sql)")) ?? true
            if reaches { throw MigrationKitError.unusableBatch(name, reason: reason) }
        }
    }

    private func hasTrigger(in db: Database) throws -> Bool {
        let sql = """
            SELECT EXISTS (SELECT 1 FROM main.sqlite_schema
            WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE)
            """
        return try Bool.fetchOne(db, sql: sql, arguments: [statement.table]) ?? false
    }

    /// Whether the statement deletes rows of the table that another one goes through.
    func deletesRows(of other: BatchTable) -> Bool {
        statement.verb == .delete
            && statement.table.foldedName == other.statement.table.foldedName
    }

    /// Throws if a later statement of the step changes what this one reads: what others commit after its
    /// batches couldn't be told from that. So does one whose rows must be changed before this one's, since
    /// foreign keys are enforced in each batch.
    func check(before later: BatchTable, in db: Database) throws {
        func refuse(_ reason: String) -> MigrationKitError {
            .unusableBatch(later.name, reason: reason)
        }
        for effect in later.reach.effects {
            let isRow = effect.kind == .delete && later.deletesRows(of: self)
            if isRow, statement.verb == .insert {
                throw refuse(
                    """
                    it deletes rows of '\(effect.table)', which an earlier statement of the migration copies, \
                    and so what others write in between: put it into a later migration, with a condition \
                    that finds only what was copied, or put both into one without batches
                    """
                )
            }
            // Its batches run this statement first.
            guard !isRow, try reach.reads(effect, in: db) else { continue }
            throw refuse(
                """
                it changes what an earlier statement of the migration reads of '\(effect.table)': \
                put it into a migration of its own
                """
            )
        }
        let isInsert = statement.verb == .insert
        guard isInsert == (later.statement.verb == .insert) else { return }
        let (parent, child) = isInsert ? (later, self) : (self, later)
        guard parent.references.contains(where: { $0.child == child.statement.changed }) else {
            return
        }
        throw refuse(
            """
            rows of '\(child.statement.changed)' refer to those of '\(parent.statement.changed)': put it \
            above the earlier statement
            """
        )
    }

    /// The number of values in a key.
    var keyCount: Int { keys.count }

    /// The key of the last row; `nil` if there is none.
    func last(in db: Database) throws -> [DatabaseValue]? {
        let order = keys.map { "\($0) DESC" }.joined(separator: ", ")
        return try row("ORDER BY \(order) LIMIT 1", [], in: db)
    }

    /// The key of the last row of the next batch.
    ///
    /// - Parameters:
    ///   - key: That of the batch before it; `nil` for the first one.
    ///   - last: That of the last batch.
    ///   - rows: How many rows it has.
    /// - Returns: `nil` if there are no more rows.
    func end(
        after key: [DatabaseValue]?,
        upTo last: [DatabaseValue],
        rows: Int,
        in db: Database
    ) throws -> [DatabaseValue]? {
        guard key != last else { return nil }
        let list = keys.joined(separator: ", ")
        let upper = comparison(list, "<=", from: 1)
        let range =
            key == nil ? upper : "\(upper) AND \(comparison(list, ">", from: keys.count + 1))"
        let end = "WHERE \(range) ORDER BY \(list) LIMIT 1 OFFSET \(rows - 1)"
        return try row(end, last + (key ?? []), in: db) ?? last
    }

    private func row(_ rest: String, _ arguments: [DatabaseValue], in db: Database) throws
        -> [DatabaseValue]?
    {
        let list = (keys + keys.map { "CAST(\($0) AS BLOB)" }).joined(separator: ", ")
        let statement = try db.cachedStatement(
            sql: "SELECT \(list) FROM main.\(self.statement.table.quotedName) \(index) \(rest)"
        )
        return try Row.fetchOne(statement, arguments: StatementArguments(arguments)).map(key)
    }

    /// The key in a row, which has each value once more as bytes.
    ///
    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)` if it isn't kept exactly.
    private func key(_ row: Row) throws -> [DatabaseValue] {
        let values = Array(row.databaseValues)
        for (value, bytes) in zip(values.prefix(keys.count), values.suffix(keys.count)) {
            let isExact =
                switch value.storage {
                case .string(let text):
                    Data(text.utf8) == Data.fromDatabaseValue(bytes) ?? Data()
                case .double(let number): number.isFinite
                case .null: false
                case .int64, .blob: true
                }
            guard isExact else {
                throw MigrationKitError.unusableBatch(
                    name,
                    reason: """
                        a key of '\(statement.table)' is text with a NUL character or in another \
                        encoding than UTF-8, or an infinite number
                        """
                )
            }
        }
        return Array(values.prefix(keys.count))
    }

    /// Looks at the next keys, which must be kept exactly.
    ///
    /// - Parameter key: The last one of those before; `nil` for the first ones.
    /// - Returns: The last one of these; `nil` if there are no more.
    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)`.
    func checkKeys(after key: [DatabaseValue]?, rows: Int, in db: Database) throws
        -> [DatabaseValue]?
    {
        guard isWithoutRowID, let last = try last(in: db),
            let end = try end(after: key, upTo: last, rows: rows, in: db)
        else { return nil }
        let list = keys.joined(separator: ", ")
        let range =
            comparison(list, "<=", from: 1)
            + (key == nil ? "" : " AND \(comparison(list, ">", from: keys.count + 1))")
        // Printable ASCII is the usual text, and needs no look.
        let isOdd = keys.map { key in
            """
            typeof(\(key)) = 'real' AND abs(\(key)) = 9e999 OR typeof(\(key)) = 'text' AND (
                \(key) GLOB '*[^ -~]*' OR length(\(key)) <> length(CAST(\(key) AS BLOB))
            )
            """
        }.joined(separator: " OR ")
        let odd = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    SELECT \((keys + keys.map { "CAST(\($0) AS BLOB)" }).joined(separator: ", "))
                    FROM main.\(statement.table.quotedName) \(index) WHERE \(range) AND (\(isOdd))
                    """
            ),
            arguments: StatementArguments(end + (key ?? []))
        )
        while let row = try odd.next() { _ = try self.key(row) }
        return end
    }

    /// Runs the statement for the rows behind one key, up to another.
    ///
    /// - Returns: How many rows it has changed.
    /// - Throws: `MigrationKitError.unusableBatch(_:reason:)` if a foreign key has changed others.
    private func run(after key: [DatabaseValue]?, through end: [DatabaseValue], in db: Database)
        throws
        -> Int
    {
        let sql = statement.sql(index) { qualifier in
            let list = keys.map { "\(qualifier).\($0)" }.joined(separator: ", ")
            let upper = comparison(list, "<=", from: 1)
            return key == nil
                ? upper : "\(upper) AND \(comparison(list, ">", from: keys.count + 1))"
        }
        let before = db.totalChangesCount
        try db.cachedStatement(sql: sql).execute(arguments: StatementArguments(end + (key ?? [])))
        let changes = db.changesCount
        // Only the total has those of foreign keys. <https://www.sqlite.org/c3ref/total_changes.html>
        if let action, db.totalChangesCount - before != changes {
            throw MigrationKitError.unusableBatch(name, reason: action)
        }
        return changes
    }

    /// Runs it, and once more: the second time must change nothing.
    ///
    /// - Throws: `MigrationKitError.batchRepeats(_:)`; `MigrationKitError.unusableBatch(_:reason:)`; a
    ///   `DatabaseError`.
    func runTwice(after key: [DatabaseValue]?, through end: [DatabaseValue], in db: Database) throws
        -> Int
    {
        let changes = try run(after: key, through: end, in: db)
        guard try changes == 0 || run(after: key, through: end, in: db) == 0 else {
            throw MigrationKitError.batchRepeats(name)
        }
        return changes
    }

    /// Runs it for all rows, and once more, as batches do.
    ///
    /// - Throws: What ``runTwice(after:through:in:)`` throws.
    func runForAll(in db: Database) throws -> Int {
        guard let last = try last(in: db) else { return 0 }
        return try runTwice(after: nil, through: last, in: db)
    }

    /// Runs the statement for no row, so that everything about it is known but the rows.
    func runForNoRow(in db: Database) throws {
        try db.onlyStatement(of: statement.sql(index) { _ in "0" }).execute()
    }

    /// How much of the table lies before a key, between 0 and 1; `nil` if that can't be told.
    func share(before key: [DatabaseValue], upTo last: [DatabaseValue], in db: Database) throws
        -> Double?
    {
        guard keys.count == 1, case .int64(let place) = key[0].storage,
            case .int64(let last) = last[0].storage,
            case .int64(let first) = try row("ORDER BY \(keys[0]) LIMIT 1", [], in: db)?[0].storage,
            last > first
        else { return nil }
        return (Double(place) - Double(first)) / (Double(last) - Double(first))
    }

    private func comparison(_ list: String, _ symbol: String, from number: Int) -> String {
        let places = (number..<(number + keys.count)).map { "?\($0)" }.joined(separator: ", ")
        return "(\(list)) \(symbol) (\(places))"
    }

    /// A range of the key must be the way through the table. For a table WITHOUT ROWID, `NOT INDEXED`
    /// doesn't say so. <https://www.sqlite.org/lang_indexedby.html>
    private static func keys(
        of table: String,
        in db: Database
    ) throws -> ([String], index: String, isWithoutRowID: Bool) {
        let columns = try Row.fetchAll(
            db,
            sql: "SELECT name, pk FROM pragma_table_xinfo(?, 'main')",
            arguments: [table]
        )
        let isWithoutRowID = try Bool.fetchOne(
            db,
            sql: """
                SELECT wr FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND name = ? COLLATE NOCASE
                """,
            arguments: [table]
        )
        guard let isWithoutRowID else { return ([], "", false) }
        guard isWithoutRowID else {
            let name = rowidName(besides: columns.map { $0[0] })
            return (name.map { [$0] } ?? [], "NOT INDEXED", false)
        }
        let primary = columns.filter { $0[1] > 0 }.sorted { ($0[1] as Int) < ($1[1] as Int) }
        let index = try String.fetchOne(
            db,
            sql: "SELECT name FROM pragma_index_list(?, 'main') WHERE origin = 'pk'",
            arguments: [table]
        )
        return (
            primary.map { ($0[0] as String).quotedName },
            index.map { "INDEXED BY \($0.quotedName)" } ?? "",
            true
        )
    }
}
