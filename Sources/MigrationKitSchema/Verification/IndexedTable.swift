import GRDB
import MigrationKitGRDB

/// A table and its indexes, as their entries are stored.
struct IndexedTable: Sendable {
    /// An index that isn't the table itself.
    struct Index: Sendable {
        let name: String
        fileprivate let rootPage: Int
        fileprivate let isUnique: Bool
        fileprivate let isPrimaryKey: Bool
        fileprivate let fields: [Field]
        /// SQL after the `FROM` clause's table, for a partial index.
        fileprivate let condition: String?
    }

    fileprivate struct Field {
        /// SQL for its value.
        let value: String
        let isKey: Bool
        let order: EntryOrder.Field
    }

    let name: String
    let indexes: [Index]

    /// Whether there is an index that isn't understood.
    let isUnusual: Bool

    private let rootPage: Int
    /// A name for the rowid; `nil` for a table WITHOUT ROWID.
    private let rowID: String?
    /// The primary key of a table WITHOUT ROWID, by which its rows are sorted.
    private let primaryKey: (name: String, fields: [Field])?

    /// - Parameter name: The name of a table of the main database.
    /// - Returns: `nil` if there is nothing to compare.
    init?(_ name: String, _ db: Database) throws {
        self.name = name
        rootPage = try Self.object("table", name, db).rootPage
        let isWithoutRowID =
            try Bool.fetchOne(
                db,
                sql: "SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?",
                arguments: [name]
            ) ?? false
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT name, \"unique\", origin FROM pragma_index_list(?, 'main') ORDER BY seq",
            arguments: [name]
        )
        guard isWithoutRowID || !rows.isEmpty else { return nil }
        let columns = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main')",
            arguments: [name]
        )
        rowID = isWithoutRowID ? nil : rowidName(besides: columns)
        var isUnusual = !isWithoutRowID && rowID == nil
        var primaryKey: (name: String, fields: [Field])?
        var indexes: [Index] = []
        for row in rows {
            let index: String = row[0]
            let origin: String = row[2]
            let object = try Self.object("index", index, db)
            let text = object.sql.flatMap(IndexText.init)
            guard object.sql == nil || text != nil,
                let fields = try Self.fields(of: index, text?.columnSources, db)
            else {
                isUnusual = true
                continue
            }
            if isWithoutRowID, origin == "pk" {
                primaryKey = (index, fields.filter(\.isKey))
                continue
            }
            indexes.append(
                Index(
                    name: index,
                    rootPage: object.rootPage,
                    isUnique: row[1],
                    isPrimaryKey: origin == "pk",
                    fields: fields,
                    condition: text?.conditionSource
                )
            )
        }
        self.indexes = indexes
        self.isUnusual = isUnusual || isWithoutRowID && primaryKey == nil
        self.primaryKey = primaryKey
    }

    private static func object(
        _ type: String,
        _ name: String,
        _ db: Database
    ) throws -> (rootPage: Int, sql: String?) {
        let row = try Row.fetchOne(
            db,
            // SQLite takes a root page that is stored as text, too.
            sql: """
                SELECT CAST(rootpage AS INTEGER), CAST(sql AS TEXT) FROM main.sqlite_schema
                WHERE type = ? AND name = ?
                """,
            arguments: [type, name]
        )
        guard let row else { return (0, nil) }
        return (row[0] ?? 0, row[1])
    }

    /// - Parameter expressions: The index's columns, as its SQL has them.
    /// - Returns: `nil` if they aren't understood.
    private static func fields(
        of index: String,
        _ expressions: [String]?,
        _ db: Database
    ) throws -> [Field]? {
        // <https://www.sqlite.org/pragma.html#pragma_index_xinfo>
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT cid, name, "desc", coll, key FROM pragma_index_xinfo(?, 'main')
                ORDER BY seqno
                """,
            arguments: [index]
        )
        var fields: [Field] = []
        for (place, row) in rows.enumerated() {
            let cid: Int = row[0]
            // The rowid is always the last field.
            if cid == -1, place == rows.count - 1 { break }
            let value: String
            if let name: String = row[1] {
                value = GRDBMigrationSQLHelpers.quoted(name)
            } else if let expressions, place < expressions.count {
                value = "(\(expressions[place])\n)"
            } else {
                return nil
            }
            let order = EntryOrder.Field(collation: row[3], isDescending: row[2])
            fields.append(Field(value: value, isKey: row[4], order: order))
        }
        return fields
    }

    // MARK: - Passes

    private var source: String { "main." + GRDBMigrationSQLHelpers.quoted(name) }

    /// The table from its beginning to its end, with what its indexes should have.
    func scan(in db: Database) throws -> IndexComparison.Finding {
        var streams = indexes.map { _ in EntryStream() }
        var calls = indexes.enumerated().map { call($0, $1) }
        var access = "NOT INDEXED"
        if let primaryKey {
            // The table's b-tree is that of its primary key.
            access = "INDEXED BY " + GRDBMigrationSQLHelpers.quoted(primaryKey.name)
            calls.append(call(streams.count, primaryKey.fields, nil))
            streams.append(
                EntryStream(order: try order(primaryKey.fields, isUnique: false, db))
            )
        }
        let query = "SELECT \(calls.joined(separator: ",\n")) FROM \(source) \(access)"
        return try db.withEntryStreams(streams) {
            guard try Bytecode(query, db).reads(onlyTable: rootPage) else {
                return IndexComparison.Finding(isUndecided: true)
            }
            _ = try Row.fetchOne(db, sql: query)
            return IndexComparison.Finding(
                digests: streams.map(\.digest),
                isOrdered: streams.last?.isOrdered ?? true
            )
        }
    }

    /// The index from its beginning to its end, without the table.
    ///
    /// Each entry is also looked up by all of its values. A scan takes the last bytes of an entry for
    /// its rowid, whatever the entry's header says of them, and doesn't see fields that the index
    /// shouldn't have. A look-up compares each field as the header has it. It also proves that the
    /// entries are sorted: a binary search finds each of several different entries only then.
    func scan(_ index: Index, in db: Database) throws -> IndexComparison.Finding {
        // Without rowids, a scan reads each field as a look-up does.
        let looksUp = rowID != nil
        let isOrderKnown = looksUp && !index.isUnique
        let stream = EntryStream(
            order: isOrderKnown ? nil : try order(index.fields, isUnique: index.isUnique, db)
        )
        let query = query(index, looksUp: looksUp)
        return try db.withEntryStreams([stream]) {
            let bytecode = try Bytecode(query, db)
            guard
                bytecode.reads(
                    onlyIndex: index.rootPage,
                    fields: index.fields.count,
                    hasRowID: rowID != nil,
                    looksUp: looksUp
                )
            else { return IndexComparison.Finding(isUndecided: true) }
            let foundCount: Int? = try Row.fetchOne(db, sql: query)?[1]
            return IndexComparison.Finding(
                digests: [stream.digest],
                isOrdered: stream.isOrdered,
                hasDuplicates: stream.hasDuplicates,
                isUndecided: looksUp && foundCount != stream.digest.count
            )
        }
    }

    /// A query that reads an index and counts the entries that are found by their values.
    private func query(_ index: Index, looksUp: Bool) -> String {
        let access = "\(source) INDEXED BY \(GRDBMigrationSQLHelpers.quoted(index.name))"
        let values = index.fields.map(\.value) + (rowID.map { [$0] } ?? [])
        let names = values.indices.map { "entry.value\($0)" }
        let scanned = zip(values, values.indices).map { "\($0) AS value\($1)" }
        // A partial index is used only if the query has its condition. SQLite knows that every
        // entry meets it, and doesn't look.
        let condition = index.condition.map { "WHERE \($0)\n" } ?? ""
        func collated(_ terms: [String]) -> [String] {
            zip(terms, index.fields).map { term, field in
                "\(term) COLLATE \(GRDBMigrationSQLHelpers.quoted(field.order.collation))"
            }
        }
        let lookUp: String
        if !looksUp {
            lookUp = "TRUE"
        } else if index.isPrimaryKey {
            // A condition on the rowid wouldn't be part of the look-up, as the key is enough. For
            // `IN`, SQLite looks up the whole entry.
            lookUp = """
                (\((collated(names) + names.suffix(1)).joined(separator: ", ")))
                IN (SELECT \(values.joined(separator: ", ")) FROM \(access))
                """
        } else {
            let conditions =
                zip(collated(values), names).map { "\($0) IS \($1)" }
                + zip(values, names).suffix(1).map { "\($0) = \($1)" }
                + (index.condition.map { ["(\($0)\n)"] } ?? [])
            lookUp = """
                EXISTS (SELECT 1 FROM \(access) WHERE \(conditions.joined(separator: " AND ")))
                """
        }
        return """
            SELECT \(Database.entryFunction)(0, \(names.joined(separator: ", "))),
            count(*) FILTER (WHERE \(lookUp))
            FROM (SELECT \(scanned.joined(separator: ", ")) FROM \(access) \(condition)) AS entry
            """
    }

    private func call(_ stream: Int, _ index: Index) -> String {
        call(stream, index.fields, index.condition)
    }

    private func call(_ stream: Int, _ fields: [Field], _ condition: String?) -> String {
        let values = fields.map(\.value) + (rowID.map { [$0] } ?? [])
        return """
            \(Database.entryFunction)(\(stream), \(values.joined(separator: ", "))) \
            \(condition.map { "FILTER (WHERE \($0)\n)" } ?? "")
            """
    }

    private func order(_ fields: [Field], isUnique: Bool, _ db: Database) throws -> EntryOrder {
        var orders = fields.map(\.order)
        if rowID != nil {
            orders.append(EntryOrder.Field(collation: "BINARY", isDescending: false))
        }
        return try EntryOrder(
            orders,
            keyCount: fields.count(where: \.isKey),
            isUnique: isUnique,
            db
        )
    }
}

/// The program into which SQLite compiles a query. <https://www.sqlite.org/opcode.html>
///
/// It is the proof that a pass reads what it should. If another version of SQLite compiles a query in
/// another way, the pass isn't run.
private struct Bytecode {
    private struct Instruction {
        let name: String
        let p1: Int
        let p2: Int
        let p3: Int
        let p4: String?
        let p5: Int
    }

    private let instructions: [Instruction]

    init(_ query: String, _ db: Database) throws {
        instructions = try Row.fetchAll(db, sql: "EXPLAIN \(query)").map {
            Instruction(
                name: $0["opcode"],
                p1: $0["p1"],
                p2: $0["p2"],
                p3: $0["p3"],
                p4: String.fromDatabaseValue($0["p4"]),
                p5: $0["p5"]
            )
        }
    }

    private func all(_ name: String) -> [Instruction] {
        instructions.filter { $0.name == name }
    }

    /// Whether the query reads no other b-tree than the table's.
    func reads(onlyTable rootPage: Int) -> Bool {
        let opened = instructions.filter { $0.name.hasPrefix("Open") }
        return opened.map(\.name) == ["OpenRead"] && opened[0].p2 == rootPage
    }

    /// What a query may do besides reading an index. It may open the table, and note where in the
    /// table a row would be (`DeferredSeek`). That reads nothing.
    private static let harmless: Set = [
        "Affinity", "AggFinal", "AggStep", "AggStep1", "BeginSubrtn", "ClrSubtype", "ColumnsUsed",
        "Copy", "DecrJumpZero", "Explain", "Goto", "Halt", "If", "IfNot", "IfNullRow", "Init",
        "Int64", "Integer", "IsNull", "Noop", "Null", "Once", "OpenRead", "Real", "RealAffinity",
        "ResultRow", "ReleaseReg", "Return", "SCopy", "String", "String8", "Transaction",
    ]

    /// What a query may do with cursors of an index.
    private static let reading: Set = [
        "Column", "DeferredSeek", "IdxRowid", "Next", "Rewind",
        // The bounds of a condition on the first field, and look-ups.
        "Found", "IdxGE", "IdxGT", "IdxLE", "IdxLT", "NotFound", "SeekGE", "SeekGT", "SeekLE",
        "SeekLT",
    ]

    /// Whether the query reads each field of the index once and in order, and nothing from the
    /// table.
    ///
    /// - Parameter looksUp: Whether it must also look up each entry by all of its fields.
    func reads(onlyIndex rootPage: Int, fields: Int, hasRowID: Bool, looksUp: Bool) -> Bool {
        let cursors = all("OpenRead").filter { $0.p2 == rootPage && $0.p3 == 0 }.map(\.p1)
        guard let scan = cursors.first, cursors.count == (looksUp ? 2 : 1),
            instructions.allSatisfy({
                Self.harmless.contains($0.name)
                    || Self.reading.contains($0.name) && cursors.contains($0.p1)
            }),
            let call = all("AggStep").first(where: {
                $0.p4?.hasPrefix(Database.entryFunction) ?? false
            })
        else { return false }
        // The first argument is the number of the stream.
        let arguments = call.p2 + 1..<call.p2 + call.p5
        func passed(_ name: String, _ argument: (Instruction) -> Int) -> [Instruction] {
            all(name).filter { arguments.contains(argument($0)) }
                .sorted { argument($0) < argument($1) }
        }
        let columns = passed("Column", \.p3)
        let rowIDs = passed("IdxRowid", \.p2)
        let isLookedUp = instructions.contains {
            ["SeekGE", "Found", "NotFound"].contains($0.name) && $0.p1 == cursors.last
                && $0.p4 == String(arguments.count)
        }
        return (columns + rowIDs).allSatisfy { $0.p1 == scan }
            && columns.map(\.p2) == Array(0..<fields)
            && rowIDs.count == (hasRowID ? 1 : 0)
            && isLookedUp == looksUp
    }
}
